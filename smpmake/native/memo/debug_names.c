/* An object names the folder in which it was compiled in strings of its debug information (DWARF).
 * Nothing holds such a string but a section of strings; others refer to it by relocations.  So an
 * object of another folder has another string, other addends, and whatever comes behind elsewhere.
 *
 * clang writes strings in the order of their use.  gcc puts those of .debug_line_str into a hash
 * table (debug_line_str_hash, by libiberty's htab_hash_string), and writes
 * that from its first place to its last: so another name may come before another string.  Behind
 * gcc's strings the assembler puts its own, in the order of their use.
 */
#include "debug_names.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/util.h"

#define SECTIONS 0xff00u
#define ALIGNED 65536u
#define OLDEST 11u /* of the versions of gcc whose rule has been proved, */
#define NEWEST 14u /* and the last */
#define PLACES 13u /* of gcc's table, while it has less than ten strings */

struct text {
	const char *text, *former;
	uint64_t at; /* where it was */
	uint64_t to; /* where it is to be */
};

struct texts {
	size_t section; /* 0: there is none */
	struct text *each;
	size_t count, *order;
	uint64_t size;
};

enum { LINE_STR, STR, TEXTS };

struct object {
	const char *bytes;
	size_t size, count;
	Elf64_Ehdr head;
	Elf64_Shdr *sections;
	struct texts texts[TEXTS];
};

static const char *name_of(const struct object *object, size_t section)
{
	const Elf64_Shdr *names = &object->sections[object->head.e_shstrndx];
	uint32_t at = object->sections[section].sh_name;
	return at < names->sh_size ? object->bytes + names->sh_offset + at : "";
}

/* The only section of a name; 0 where there is none, -1 where there are more. */
static long section_of(const struct object *object, const char *name)
{
	long found = 0;
	for (size_t i = 1; i < object->count; i++)
		if (strcmp(name_of(object, i), name) == 0) {
			if (found != 0)
				return -1;
			found = (long)i;
		}
	return found;
}

static int read_object(struct object *object, const char *bytes, size_t size)
{
	Elf64_Ehdr *head = &object->head;
	memset(object, 0, sizeof *object);
	object->bytes = bytes;
	object->size = size;
	if (size < sizeof *head || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
		return -1;
	memcpy(head, bytes, sizeof *head);
	object->count = head->e_shnum;
	if (head->e_type != ET_REL || head->e_phnum != 0 || head->e_ehsize != sizeof *head ||
	    head->e_shentsize != sizeof(Elf64_Shdr) || object->count == 0 ||
	    object->count >= SECTIONS || head->e_shstrndx == 0 ||
	    head->e_shstrndx >= object->count || head->e_shoff > size ||
	    size - head->e_shoff != object->count * sizeof(Elf64_Shdr))
		return -1;
	object->sections = must_alloc(object->count * sizeof(Elf64_Shdr));
	memcpy(object->sections, bytes + head->e_shoff, object->count * sizeof(Elf64_Shdr));
	for (size_t i = 0; i < object->count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		if (section->sh_type != SHT_NOBITS &&
		    (section->sh_offset > head->e_shoff ||
		     section->sh_size > head->e_shoff - section->sh_offset))
			return -1;
	}
	const Elf64_Shdr *names = &object->sections[head->e_shstrndx];
	return names->sh_type == SHT_STRTAB && names->sh_size > 0 &&
	               bytes[names->sh_offset + names->sh_size - 1] == '\0'
	           ? 0
		   : -1;
}

/* ------------------------------------------------------------------ strings */

static int read_texts(const struct object *object, const char *name, struct texts *texts)
{
	long number = section_of(object, name);
	memset(texts, 0, sizeof *texts);
	if (number <= 0)
		return number == 0 ? 0 : -1;
	const Elf64_Shdr *section = &object->sections[number];
	const char *bytes = object->bytes + section->sh_offset;
	if (section->sh_type != SHT_PROGBITS || section->sh_entsize != 1 ||
	    section->sh_addralign > 1 || section->sh_flags != (SHF_MERGE | SHF_STRINGS) ||
	    section->sh_size == 0 || bytes[section->sh_size - 1] != '\0')
		return -1;
	for (uint64_t at = 0; at < section->sh_size; at += strlen(bytes + at) + 1)
		texts->count++;
	texts->each = must_alloc(texts->count * sizeof *texts->each);
	texts->order = must_alloc(texts->count * sizeof *texts->order);
	uint64_t at = 0;
	for (size_t i = 0; i < texts->count; i++, at += strlen(bytes + at) + 1) {
		texts->each[i] = (struct text){.text = bytes + at, .former = bytes + at, .at = at};
		texts->order[i] = i;
	}
	texts->section = (size_t)number;
	return 0;
}

/* What has a place there, NULL for none. */
static const struct text *text_at(const struct texts *texts, uint64_t at)
{
	size_t low = 0, high = texts->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (texts->each[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < texts->count && texts->each[low].at == at ? &texts->each[low] : NULL;
}

/* Whether an absolute name has its first folder in common with another. */
static int is_related(const char *name, const char *other)
{
	size_t size = 1 + strcspn(name + 1, "/");
	return *name == '/' && strncmp(name, other, size) == 0 &&
	       (other[size] == '/' || other[size] == '\0');
}

/* How many are another text now; -1 where the new one begins another, which cannot be told from
 * that then. */
static int rename_texts(struct texts *texts, const struct memo_place *from,
                        const struct memo_place *to, int is_gcc)
{
	int renamed = 0;
	for (size_t i = 0; i < texts->count; i++) {
		struct text *text = &texts->each[i];
		text->text = memo_moved(text->former, from, to);
		if (text->text != text->former)
			renamed++;
		/* clang divides a name behind the folders that it shares with its own. */
		else if (strncmp(text->text, to->folder, to->top) == 0 ||
		         (!is_gcc && (is_related(text->text, from->folder) ||
		                      is_related(text->text, to->folder))))
			return -1;
	}
	return renamed;
}

static void place_texts(struct texts *texts)
{
	texts->size = 0;
	for (size_t i = 0; i < texts->count; i++) {
		struct text *text = &texts->each[texts->order[i]];
		text->to = texts->size;
		texts->size += strlen(text->text) + 1;
	}
}

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 0;
	for (; *text != '\0'; text++)
		hash = hash * 67 + (unsigned char)*text - 113;
	return hash;
}

/* Of two strings in gcc's table: whether the one that was put in first comes first. */
static int comes_first(const char *first, const char *second)
{
	uint32_t place = hash_of(first) % PLACES, hash = hash_of(second);
	uint32_t other = hash % PLACES;
	if (other == place)
		other = (other + 1 + hash % (PLACES - 2)) % PLACES;
	return place < other;
}

/* ------------------------------------------------------------------ who refers to strings */

/* A reference to a section of strings: where it stands, in the section `by`, and to which string.
 */
typedef int each_reference(struct object *object, size_t texts, size_t by, uint64_t at,
                           const struct text *text, void *what);

/* Calls it of each reference to a section of strings; -1 at once where it or a reference is not
 * understood. */
static int each_of(struct object *object, each_reference *does, void *what)
{
	for (size_t i = 1; i < object->count; i++) {
		const Elf64_Shdr *section = &object->sections[i], *symbols;
		if (section->sh_type == SHT_REL)
			return -1;
		if (section->sh_type != SHT_RELA)
			continue;
		if (section->sh_entsize != sizeof(Elf64_Rela) || section->sh_link == 0 ||
		    section->sh_link >= object->count)
			return -1;
		symbols = &object->sections[section->sh_link];
		if (symbols->sh_type != SHT_SYMTAB)
			return -1;
		for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section->sh_size;
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela reference;
			Elf64_Sym symbol;
			memcpy(&reference, object->bytes + section->sh_offset + at,
			       sizeof reference);
			uint64_t number = ELF64_R_SYM(reference.r_info);
			if (number >= symbols->sh_size / sizeof symbol)
				return -1;
			memcpy(&symbol, object->bytes + symbols->sh_offset + number * sizeof symbol,
			       sizeof symbol);
			for (size_t k = 0; k < TEXTS; k++) {
				if (object->texts[k].section == 0 ||
				    symbol.st_shndx != object->texts[k].section)
					continue;
				const struct text *text =
				    text_at(&object->texts[k], (uint64_t)reference.r_addend);
				if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION ||
				    symbol.st_value != 0 || text == NULL ||
				    does(object, k, i, at, text, what) != 0)
					return -1;
			}
		}
	}
	return 0;
}

/* Which lines' strings .debug_info refers to itself. */
struct direct {
	size_t info, count;
	uint64_t at[2];
};

static int note_direct(struct object *object, size_t texts, size_t by, uint64_t at,
                       const struct text *text, void *what)
{
	struct direct *direct = what;
	(void)at;
	if (texts != LINE_STR || object->sections[by].sh_info != direct->info)
		return 0;
	for (size_t i = 0; i < direct->count && i < 2; i++)
		if (direct->at[i] == text->at)
			return 0;
	if (direct->count < 2)
		direct->at[direct->count] = text->at;
	direct->count++;
	return 0;
}

/* gcc's own strings are the unit's name and its folder, put into the table in this order. */
static int order_as_gcc(struct object *object, const char *from)
{
	struct texts *texts = &object->texts[LINE_STR];
	long info = section_of(object, ".debug_info");
	struct direct direct = {.info = (size_t)info};
	/* Behind gcc's strings the assembler's begin: with the folder. */
	if (info <= 0 || texts->count < 3 || strcmp(texts->each[2].former, from) != 0 ||
	    each_of(object, note_direct, &direct) != 0 || direct.count != 2 ||
	    direct.at[0] + direct.at[1] != texts->each[1].at)
		return -1;
	size_t folder = strcmp(texts->each[0].former, from) == 0 ? 0 : 1;
	if (strcmp(texts->each[folder].former, from) != 0)
		return -1;
	int is_name_first = comes_first(texts->each[1 - folder].text, texts->each[folder].text);
	texts->order[0] = is_name_first ? 1 - folder : folder;
	texts->order[1] = is_name_first ? folder : 1 - folder;
	return 0;
}

/* ------------------------------------------------------------------ the new object */

static uint64_t aligned(uint64_t at, uint64_t to)
{
	return to > 1 ? (at + to - 1) / to * to : at;
}

/* Whether a section comes before another in the file. */
static int is_before(const struct object *object, size_t one, size_t other)
{
	const Elf64_Shdr *a = &object->sections[one], *b = &object->sections[other];
	int is_empty = a->sh_type == SHT_NOBITS || a->sh_size == 0;
	int is_other_empty = b->sh_type == SHT_NOBITS || b->sh_size == 0;
	if (a->sh_offset != b->sh_offset)
		return a->sh_offset < b->sh_offset;
	return is_empty != is_other_empty ? is_empty : one < other;
}

static size_t *order_of_sections(const struct object *object)
{
	size_t count = object->count - 1;
	size_t *order = must_alloc((count + 1) * sizeof *order);
	for (size_t i = 0; i < count; i++)
		order[i] = i + 1;
	for (size_t gap = count / 2; gap > 0; gap /= 2)
		for (size_t i = gap; i < count; i++) {
			size_t one = order[i], k = i;
			for (; k >= gap && is_before(object, one, order[k - gap]); k -= gap)
				order[k] = order[k - gap];
			order[k] = one;
		}
	return order;
}

static uint64_t size_of(const struct object *object, size_t section)
{
	for (size_t k = 0; k < TEXTS; k++)
		if (object->texts[k].section == section)
			return object->texts[k].size;
	return object->sections[section].sh_size;
}

static int is_zero(const char *bytes, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (bytes[i] != '\0')
			return 0;
	return 1;
}

/* Each section lies as close behind the one before as it may, and the table of all at the end; none
 * is aligned to more than `most` (newer binutils: 8).  `order`: theirs in the file; `fresh`: where
 * they are to be.  The size of all, or 0 where the object is laid out otherwise. */
static uint64_t lay_out(const struct object *object, const size_t *order, uint64_t most,
                        Elf64_Shdr *fresh, uint64_t *table)
{
	memcpy(fresh, object->sections, object->count * sizeof *fresh);
	uint64_t at = sizeof object->head, to = at;
	for (size_t i = 0; i + 1 < object->count; i++) {
		const Elf64_Shdr *section = &object->sections[order[i]];
		uint64_t align = section->sh_addralign < most ? section->sh_addralign : most;
		uint64_t next = aligned(at, align);
		if (section->sh_addralign > ALIGNED || section->sh_offset != next ||
		    next > object->head.e_shoff || !is_zero(object->bytes + at, next - at))
			return 0;
		to = aligned(to, align);
		fresh[order[i]].sh_offset = to;
		fresh[order[i]].sh_size = size_of(object, order[i]);
		at = next;
		if (section->sh_type == SHT_NOBITS)
			continue;
		at += section->sh_size;
		to += fresh[order[i]].sh_size;
	}
	if (aligned(at, sizeof(uint64_t)) != object->head.e_shoff ||
	    !is_zero(object->bytes + at, object->head.e_shoff - at))
		return 0;
	*table = aligned(to, sizeof(uint64_t));
	return *table + object->count * sizeof *fresh;
}

struct writing {
	char *bytes;
	const Elf64_Shdr *sections;
};

static void put_texts(const struct texts *texts, char *to)
{
	for (size_t i = 0; i < texts->count; i++)
		strcpy(to + texts->each[i].to, texts->each[i].text);
}

static int put_reference(struct object *object, size_t texts, size_t by, uint64_t at,
                         const struct text *text, void *what)
{
	const struct writing *writing = what;
	const int64_t addend = (int64_t)text->to;
	(void)object;
	(void)texts;
	memcpy(writing->bytes + writing->sections[by].sh_offset + at +
	           offsetof(Elf64_Rela, r_addend),
	       &addend, sizeof addend);
	return 0;
}

static char *write_object(struct object *object, size_t *size)
{
	const size_t headers = object->count * sizeof(Elf64_Shdr);
	Elf64_Shdr *fresh = must_alloc(headers), *other = must_alloc(headers);
	uint64_t table = 0, other_table = 0;
	const size_t *order = order_of_sections(object);
	uint64_t all = lay_out(object, order, ALIGNED, fresh, &table);
	uint64_t other_all = lay_out(object, order, sizeof(uint64_t), other, &other_table);
	if (all == 0 && other_all == 0)
		return NULL;
	/* Where both were possible then, and are not one now, nobody knows which it is. */
	if (all != 0 && other_all != 0 && memcmp(fresh, other, headers) != 0)
		return NULL;
	if (all == 0) {
		fresh = other;
		table = other_table;
		all = other_all;
	}
	char *bytes = must_alloc(all);
	memset(bytes, 0, all);
	for (size_t i = 1; i < object->count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		size_t k = 0;
		while (k < TEXTS && object->texts[k].section != i)
			k++;
		if (k < TEXTS)
			put_texts(&object->texts[k], bytes + fresh[i].sh_offset);
		else if (section->sh_type != SHT_NOBITS)
			memcpy(bytes + fresh[i].sh_offset, object->bytes + section->sh_offset,
			       section->sh_size);
	}
	object->head.e_shoff = table;
	memcpy(bytes, &object->head, sizeof object->head);
	memcpy(bytes + table, fresh, object->count * sizeof *fresh);
	struct writing writing = {.bytes = bytes, .sections = fresh};
	if (each_of(object, put_reference, &writing) != 0)
		return NULL;
	*size = all;
	return bytes;
}

/* ------------------------------------------------------------------ all of it */

static int holds(const struct object *object, const char *name, const char *word)
{
	long section = section_of(object, name);
	return section > 0 && memmem(object->bytes + object->sections[section].sh_offset,
	                             object->sections[section].sh_size, word, strlen(word)) != NULL;
}

/* Whether anything else depends on what is to be changed: a sum of all, or symbols within. */
static int has_others(const struct object *object)
{
	if (section_of(object, ".note.gnu.build-id") != 0)
		return 1;
	for (size_t i = 1; i < object->count; i++) {
		const Elf64_Shdr *section = &object->sections[i];
		Elf64_Sym symbol;
		if (section->sh_type != SHT_SYMTAB)
			continue;
		for (uint64_t at = 0; at + sizeof symbol <= section->sh_size; at += sizeof symbol) {
			memcpy(&symbol, object->bytes + section->sh_offset + at, sizeof symbol);
			for (size_t k = 0; k < TEXTS; k++)
				if (object->texts[k].section != 0 &&
				    symbol.st_shndx == object->texts[k].section &&
				    ELF64_ST_TYPE(symbol.st_info) != STT_SECTION)
					return 1;
		}
	}
	return 0;
}

char *memo_renamed(const char *bytes, size_t *size, const struct memo_place *from,
                   const struct memo_place *to)
{
	struct object object;
	if (read_object(&object, bytes, *size) != 0 ||
	    read_texts(&object, ".debug_line_str", &object.texts[LINE_STR]) != 0 ||
	    read_texts(&object, ".debug_str", &object.texts[STR]) != 0)
		return NULL;
	int is_gcc = holds(&object, ".comment", "GCC: ");
	int lines = rename_texts(&object.texts[LINE_STR], from, to, is_gcc);
	int others = rename_texts(&object.texts[STR], from, to, is_gcc);
	/* In gcc's larger table a string's place depends on all, also on those that it has left out
	 * at the end: nobody can tell it from the object (DWARF 4). */
	if (lines < 0 || others < 0 || lines + others == 0 || has_others(&object) ||
	    is_gcc == holds(&object, ".comment", "clang version ") || (is_gcc && others > 0) ||
	    (is_gcc && order_as_gcc(&object, from->folder) != 0))
		return NULL;
	for (size_t k = 0; k < TEXTS; k++)
		place_texts(&object.texts[k]);
	return write_object(&object, size);
}

int memo_may_be_renamed(const struct memo_tree *tree, const char *bytes, size_t size)
{
	const struct memo_place here = {tree->folder, tree->top}, nowhere = {"?", 1};
	size_t again = size;
	const char *same = memo_renamed(bytes, &again, &here, &here);
	if (same == NULL)
		return 0;
	if (again != size || memcmp(same, bytes, size) != 0)
		return -1;
	/* With names that say nothing it may not name the tree any more. */
	const char *rest = memo_renamed(bytes, &again, &here, &nowhere);
	return rest != NULL && !memo_names_top(tree, rest, again);
}

/* Of "GCC: (ANYTHING) 12.2.0". */
static unsigned long version_of(const char *text, const char *end)
{
	unsigned long version = 0;
	const char *at = memmem(text, (size_t)(end - text), ") ", 2);
	for (at = at != NULL ? at + 2 : end; at < end && *at >= '0' && *at <= '9'; at++)
		version = version * 10 + (unsigned long)(*at - '0');
	return version;
}

uint32_t memo_unproved_maker(const char *bytes, size_t size)
{
	struct object object;
	long section = read_object(&object, bytes, size) == 0 ? section_of(&object, ".comment") : 0;
	if (section <= 0 || object.sections[section].sh_type == SHT_NOBITS ||
	    object.sections[section].sh_size == 0)
		return 1;
	const char *comment = bytes + object.sections[section].sh_offset, *at = comment;
	const char *end = comment + object.sections[section].sh_size;
	if (end[-1] != '\0')
		return 1;
	for (; (at = memmem(at, (size_t)(end - at), "GCC: ", 5)) != NULL; at++) {
		unsigned long version = version_of(at, at + strlen(at));
		if (version < OLDEST || version > NEWEST)
			return (uint32_t)quick_sum(comment, (size_t)(end - comment)) | 1;
	}
	return 0;
}
