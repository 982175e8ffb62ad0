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
