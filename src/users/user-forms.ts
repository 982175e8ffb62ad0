/**
 * Login names. No `@`, so that no name can be somebody's e-mail address (Keycloak
 * GHSA-j9xq-j329-2xvg).
 */
export const nameForm = /^[A-Za-z0-9._-]+$/;
/** Ids of carriers in the platform. */
export const carrierIdForm = /^[A-Za-z0-9._-]+$/;
const rememberedMax = 1_000;
/** E.164 phone numbers. */
export const phoneForm = /^\+[1-9][0-9]{6,14}$/;

const language = '([A-Za-z]{2,3}|[A-Za-z]{5,8})';
const region = '(-([A-Za-z]{2}|[0-9]{3}))?';
const variant = '(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?';
const keyword = '([A-Za-z0-9]{3,8}|[A-Za-z0-9][A-Za-z])';
/**
 * Matches language tags of BCP 47: language, script, region, at most one variant, and the Unicode
 * extension (`de-DE-u-co-phonebk`). Whatever matches is accepted by `Intl`, which adds only rules
 * for repeated variants and extensions.
 */
export const localeForm = new RegExp(`^${language}(-[A-Za-z]{4})?${region}${variant}(-u(-${keyword})+)?$`);

/** Matches what names of time zones look like; `isTimezone` knows which exist. */
export const timezoneForm = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

/** Returns whether a text names a time zone of the IANA database. */
export const isTimezone = remembering((text) => {
  try {
    return (
      timezoneForm.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
    );
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
