// The lowest cost of a form in memory: its bytes, copied one after the other into memory that is allocated once.
//
//   multipart PARTS SIZE ROUNDS
//
// Copies PARTS bodies of SIZE bytes with a head before each, ROUNDS times. The time is measured from outside.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char delimiter[] = "\r\n--weir.boundary.0123456789abcdef\r\n";
static const char last[] = "\r\n--weir.boundary.0123456789abcdef--\r\n";

static void fail(const char *what) {
  fprintf(stderr, "multipart: %s\n", what);
  exit(1);
}

static char *put(char *place, const char *bytes, size_t count) {
  memcpy(place, bytes, count);
  return place + count;
}

// The head of a part, as the form in Swift writes it.
static size_t make_head(char *head, size_t room, long index) {
  int count = snprintf(head, room,
                       "Content-Disposition: form-data; name=\"part%ld\"; filename=\"part%ld.bin\"\r\n"
                       "Content-Type: application/octet-stream\r\n\r\n",
                       index, index);
  if (count < 0 || (size_t)count >= room) fail("a head is too long");
  return (size_t)count;
}

int main(int count, char **arguments) {
  if (count != 4) fail("usage: multipart PARTS SIZE ROUNDS");
  long parts = atol(arguments[1]), rounds = atol(arguments[3]);
  size_t size = (size_t)atol(arguments[2]);
  if (parts < 1 || size < 1 || rounds < 1) fail("usage: multipart PARTS SIZE ROUNDS");

  char **bodies = calloc((size_t)parts, sizeof *bodies);
  char(*heads)[256] = calloc((size_t)parts, sizeof *heads);
  size_t *lengths = calloc((size_t)parts, sizeof *lengths);
  if (bodies == NULL || heads == NULL || lengths == NULL) fail("out of memory");
  size_t total = sizeof last - 1;
  for (long index = 0; index < parts; index++) {
    bodies[index] = malloc(size);
    if (bodies[index] == NULL) fail("out of memory");
    memset(bodies[index], (int)index, size);
    lengths[index] = make_head(heads[index], sizeof heads[index], index);
    total += sizeof delimiter - 1 + lengths[index] + size;
  }

  unsigned long checked = 0;
  for (long round = 0; round < rounds; round++) {
    char *form = malloc(total), *place = form;
    if (form == NULL) fail("out of memory");
    for (long index = 0; index < parts; index++) {
      place = put(place, delimiter, sizeof delimiter - 1);
      place = put(place, heads[index], lengths[index]);
      place = put(place, bodies[index], size);
    }
    place = put(place, last, sizeof last - 1);
    // So that the copies are not left out.
    checked += (unsigned char)form[total / 2] + (size_t)(place - form);
    free(form);
  }
  if (checked == 0) fail("nothing was copied");
}
