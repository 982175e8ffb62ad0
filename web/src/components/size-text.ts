const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Returns a number of bytes in its largest unit, such as "1.2 GB". */
export function sizeText(bytes: number, language: string): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const options = { style: 'unit', unit: units[step] ?? 'byte', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(language, options).format(bytes / 1_000 ** step);
}
