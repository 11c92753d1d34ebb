// The public header is C++ too.
#include <oatgp.h>

int main() {
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  return settings.max_iter > 0 ? OATGP_OK : OATGP_ARGUMENT;
}
