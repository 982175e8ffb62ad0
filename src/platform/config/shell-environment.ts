/** Environment variables of the commands that call the API, as they are set. */
export function shellEnvironment(): Record<'IDENTITY_URL' | 'IDENTITY_KEY' | 'IDENTITY_KEY_FILE', string | undefined> {
  const { IDENTITY_URL, IDENTITY_KEY, IDENTITY_KEY_FILE } = process.env;
  return { IDENTITY_URL, IDENTITY_KEY, IDENTITY_KEY_FILE };
}
