/**
 * Returns a secret raw, url-encoded, as JSON, in hex, and in base64 at each of the three offsets.
 */
export function spellings(secret: string): string[] {
  const base64 = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.from(`${'x'.repeat(offset)}${secret}`)
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4);
    return [encoded, encoded.replace(/\+/g, '-').replace(/\//g, '_')];
  });
  return [
    secret,
    encodeURIComponent(secret),
    encodeURI(secret),
    JSON.stringify(secret).slice(1, -1),
    new URLSearchParams({ s: secret }).toString().slice(2),
    Buffer.from(secret).toString('hex'),
    ...base64,
  ];
}
