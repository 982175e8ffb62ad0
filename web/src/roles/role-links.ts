/**
 * Returns the path of the page of a role. It ends with a slash, because the service treats a path
 * that ends like `support.eu` as a file.
 */
export function rolePath(name: string): string {
  return `/roles/${encodeURIComponent(name)}/`;
}

/** Returns the path of the list of users who have a role. */
export function holdersPath(name: string): string {
  return `/users?role=${encodeURIComponent(name)}`;
}
