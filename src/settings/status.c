/* Version, and the texts of status and stop codes, from the one table. */
#include "oatgp.h"

#include "oat_config.h"

const char *oatgp_version(void) { return OAT_VERSION; }

static const char *const status_sentences[] = {
#define OATGP_STATUS(NAME, sentence) sentence,
#include "oatgp_status.def"
};

static const char *const stop_words[] = {
#define OATGP_STOP(NAME, word, sentence) word,
#include "oatgp_status.def"
};

static const char *const stop_sentences[] = {
#define OATGP_STOP(NAME, word, sentence) sentence,
#include "oatgp_status.def"
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A code from a newer library or a damaged file must not read past the table. */
static const char *text_at(const char *const *texts, size_t count, size_t index) {
  return index < count ? texts[index] : "unknown code";
}

const char *oatgp_status_sentence(oatgp_status status) {
  return text_at(status_sentences, COUNT(status_sentences), (size_t)status);
}

const char *oatgp_stop_word(oatgp_stop stop) { return text_at(stop_words, COUNT(stop_words), (size_t)stop); }

const char *oatgp_stop_sentence(oatgp_stop stop) {
  return text_at(stop_sentences, COUNT(stop_sentences), (size_t)stop);
}
