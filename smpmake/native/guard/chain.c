#include "chain.h"
#include "guard.h"

#include <link.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* ours */

/* An object's table of names, as GNU's linkers write it. */
struct names {
	const uint32_t *table; /* NULL: it has none that we know */
	const ElfW(Sym) * symbols;
	const char *texts;
	const ElfW(Half) * versions;
};

/* The loader has added the object's address to most entries that are addresses. */
static const void *address_in(const struct link_map *map, const ElfW(Dyn) * entry)
{
	uintptr_t address = entry->d_un.d_ptr;
	return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static struct names names_of(const struct link_map *map)
{
	struct names names = {.table = NULL};
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_GNU_HASH)
			names.table = address_in(map, entry);
		else if (entry->d_tag == DT_SYMTAB)
			names.symbols = address_in(map, entry);
		else if (entry->d_tag == DT_STRTAB)
			names.texts = address_in(map, entry);
		else if (entry->d_tag == DT_VERSYM)
			names.versions = address_in(map, entry);
	return names;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name != '\0'; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

#define HIDDEN 0x8000 /* an older version, which only a reference that names it gets */
#define BITS (8 * (uint32_t)sizeof(ElfW(Addr)))

/* Where an object defines a name; NULL where it does not. */
static const ElfW(Sym) * defined(const struct names *names, const char *name, uint32_t hash)
{
	const uint32_t *table = names->table;
	uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
	const ElfW(Addr) *filter = (const void *)(table + 4);
	const uint32_t *bucket = (const void *)(filter + words), *chain = bucket + buckets;
	if (buckets == 0 || words == 0) /* it defines nothing */
		return NULL;
	ElfW(Addr) word = filter[hash / BITS % words];
	if (!(word >> hash % BITS & word >> (hash >> shift) % BITS & 1))
		return NULL;
	uint32_t at = bucket[hash % buckets];
	if (at < first)
		return NULL;
	for (;; at++) {
		uint32_t other = chain[at - first];
		const ElfW(Sym) *symbol = names->symbols + at;
		if ((other | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
		    !(names->versions != NULL && names->versions[at] & HIDDEN) &&
		    strcmp(names->texts + symbol->st_name, name) == 0)
			return symbol;
		if (other & 1)
			return NULL;
	}
}

/* Who defines a name first behind us. */
struct definer {
	const struct link_map *map; /* NULL: only dlsym can say */
	const ElfW(Sym) * symbol;   /* NULL: nobody as far as libc, which is `map` then */
	int is_libc;
};

/* Not beyond libc: what lies there another thread may be about to unload. */
static struct definer definer_of(const char *name)
{
	static const char of_libc[] = "gnu_get_libc_version";
	uint32_t hash = gnu_hash(name), its_hash = gnu_hash(of_libc);
	struct definer found = {.map = _r_debug.r_map};
	while (found.map != NULL && found.map->l_ld != _DYNAMIC)
		found.map = found.map->l_next;
	while (found.map != NULL && found.symbol == NULL && !found.is_libc) {
		found.map = found.map->l_next;
		struct names names = {.table = NULL};
		if (found.map != NULL)
			names = names_of(found.map);
		if (names.table == NULL)
			return (struct definer){.map = NULL};
		found.symbol = defined(&names, name, hash);
		found.is_libc = defined(&names, of_libc, its_hash) != NULL;
	}
	return found;
}

void *next_in_chain(const char *name)
{
	struct definer found = definer_of(name);
	return found.symbol != NULL && ELF64_ST_TYPE(found.symbol->st_info) == STT_FUNC
	           ? (void *)(found.map->l_addr + found.symbol->st_value)
		   : NULL;
}

int is_next_of_libc(const char *name)
{
	return definer_of(name).is_libc;
}
