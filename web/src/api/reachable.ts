/** Returns whether the service responds. */
export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch(document.baseURI, { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
