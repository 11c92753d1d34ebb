# Sets $python to one that has selenium, for the tests that look at pages in chromium; leaves the test where that, chromium or its driver is
# missing. To be sourced.
python=
for candidate in python3 /usr/bin/python3; do
  if command -v "$candidate" >/dev/null && "$candidate" -c 'import selenium' 2>/dev/null; then
    python=$candidate
    break
  fi
done
for tool in chromium chromedriver; do
  command -v "$tool" >/dev/null || python=
done
if [ -z "$python" ]; then
  echo "skipped: this test needs chromium, its driver and selenium (Debian: chromium chromium-driver python3-selenium)"
  exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
