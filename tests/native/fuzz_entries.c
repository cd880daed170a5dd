/* Entries of a damaged store: whether their facts hold, and where their parts are. */
#include "memo/question.h"

/* Of real files, which are large: a sum takes longer than all else. */
#define memo_content(...) (-1)
#include "memo/validate.c"

#include "memo/other_tree.h"
#include "stored.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = stored(data, size);
	const struct memo_entry *entry;
	const char *what = NULL;
	size_t at = sizeof(struct memo_head);
	if (memo_is_of_question(&question, 0, copy, size))
		while ((entry = memo_next_entry(copy, size, &at)) != NULL) {
			doubt_of_entry(&question, entry, &what);
			const struct memo_output *output = memo_outputs(entry);
			if (output == NULL)
				continue;
			size_t given;
			for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output))
				if (!(output->flags & MEMO_REMOVED))
					(void)memo_output_bytes(&question.memo, entry, output,
					                        &given);
			(void)memo_bytes(&question.memo, memo_texts(entry));
		}
	return 0;
}
