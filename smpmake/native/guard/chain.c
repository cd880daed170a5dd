#include "chain.h"
#include "guard.h"

#include <link.h>
#include <stdlib.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* ours */

/* An object's segments lie together, behind its address. */
static const struct link_map *owner_of(uintptr_t address)
{
	const struct link_map *owner = NULL;
	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
		if (map->l_addr <= address && (owner == NULL || map->l_addr > owner->l_addr))
			owner = map;
	return owner;
}

int are_libcs(const uintptr_t functions[], size_t count)
{
	const struct link_map *libc = owner_of((uintptr_t)on_exit);
	for (size_t i = 0; i < count; i++)
		if (functions[i] != 0 && owner_of(functions[i]) != libc)
			return 0;
	return 1;
}

/* ------------------------------------------------------------------ the next of a name */

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

void *next_in_chain(const char *name)
{
	uint32_t hash = gnu_hash(name);
	const struct link_map *map = _r_debug.r_map, *last = owner_of((uintptr_t)on_exit);
	while (map != NULL && map->l_ld != _DYNAMIC)
		map = map->l_next;
	while (map != NULL && map != last) {
		map = map->l_next;
		struct names names = {.table = NULL};
		if (map != NULL)
			names = names_of(map);
		if (names.table == NULL)
			return NULL;
		const ElfW(Sym) *symbol = defined(&names, name, hash);
		if (symbol != NULL)
			return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
			           ? (void *)(map->l_addr + symbol->st_value)
				   : NULL;
	}
	return NULL;
}
