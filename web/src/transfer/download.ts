/** A browser may start to read the file some time after the click. */
const revokeAfterMs = 60_000;

/**
 * Starts the download of a URL. The page stays even if the service responds with a problem: the
 * browser then reports a failed download.
 */
export function downloadFrom(url: string, name = ''): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}

/** Saves content of the page as a file. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  downloadFrom(url, name);
  setTimeout(() => URL.revokeObjectURL(url), revokeAfterMs);
}
