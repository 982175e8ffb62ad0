/** The decoded parts of a mail. */
export interface MailParts {
  headers: string;
  text: string;
  html: string;
}

/** Returns the decoded parts of a mail by content type. */
export function partsOf(source: string): MailParts {
  const [headers = '', ...rest] = source.split(/\r?\n\r?\n/);
  const boundary = /boundary="([^"]+)"/.exec(headers)?.[1] ?? 'none';
  const parts: Record<string, string> = {};
  for (const part of rest.join('\n\n').split(`--${boundary}`)) {
    const [head = '', ...body] = part.trim().split(/\r?\n\r?\n/);
    const type = /Content-Type: ([^;\s]+)/i.exec(head)?.[1] ?? 'none';
    const encoding = /Content-Transfer-Encoding: (\S+)/i.exec(head)?.[1] ?? '7bit';
    const content = body.join('\n\n');
    if (encoding === 'base64') parts[type] = Buffer.from(content, 'base64').toString();
    else if (encoding === 'quoted-printable') parts[type] = decodeQuotedPrintable(content);
    else parts[type] = content;
  }
  return { headers, text: parts['text/plain'] ?? '', html: parts['text/html'] ?? '' };
}

function decodeQuotedPrintable(content: string): string {
  const bytes = content
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Checks that a mail loads and runs nothing, and has the same content in both forms. */
export function expectWellMade({ headers, text, html }: MailParts, language: string, link?: string): void {
  expect(headers).toMatch(/^Content-Type: multipart\/alternative/m);
  expect(headers).toMatch(/^Auto-Submitted: auto-generated\r?$/m);
  expect(html).toContain(`<html lang="${language}">`);
  expect(html).not.toMatch(/<(script|img|link|iframe|form)\b|\son\w+=|javascript:|url\(/i);
  const shown = html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ');
  const blocks = text.trim().split(/\r?\n\r?\n/);
  const texts = blocks.flatMap((block) => (/^\S.*: \S/.test(block) ? block.split(/\r?\n/) : [block]));
  for (const block of texts.filter((one) => one !== link))
    for (const line of block.includes('http') ? block.split(/\r?\n/) : [block.replace(/\r?\n/g, ' ')])
      expect(shown).toContain(line.trim());
  const links = [...html.matchAll(/<a\s+href="([^"]*)"/g)].map(([, href]) => href);
  if (link === undefined) return;
  expect(text.split(/\s+/)).toContain(link);
  expect(links.filter((href) => href === link)).toHaveLength(2);
  // The visible link is short and contains no token.
  expect(shown).not.toContain(tokenOf(text));
}

/** Returns the link with a token in the text of a mail, if there is one. */
export function linkIn(text: string): string | undefined {
  return /^https?:\S+[/#=][A-Za-z0-9_-]{43}(?:#form)?(?=\s)/m.exec(text)?.[0];
}

/** Returns the token of the link in the text of a mail. */
export function tokenOf(text: string): string {
  return /\/([A-Za-z0-9_-]{43})(?:#form)?\s/.exec(text)?.[1] ?? '';
}
