/** Login names. No `@`, so that no name can be somebody's e-mail address (Keycloak GHSA-j9xq-j329-2xvg). */
export const nameForm = /^[A-Za-z0-9._-]+$/;
/** Ids of carriers in the platform. */
export const carrierIdForm = /^[A-Za-z0-9._-]+$/;
const rememberedMax = 1_000;
/** E.164 phone numbers. */
export const phoneForm = /^\+[1-9][0-9]{6,14}$/;

/** Whether a text is a language tag that BCP 47 allows. */
export const isLocale = remembering((text) => {
  try {
    return /^[A-Za-z0-9-]{2,35}$/.test(text) && Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
});

/** Whether a text names a time zone of the IANA database. */
export const isTimezone = remembering((text) => {
  try {
    return /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
});

/** Asking the runtime takes 50 µs, and users have few different answers. */
function remembering(check: (text: string) => boolean): (text: string) => boolean {
  const known = new Map<string, boolean>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const right = check(text);
    if (known.size >= rememberedMax) known.clear();
    if (text.length <= 64) known.set(text, right);
    return right;
  };
}
