/**
 * Returns the path of the page of a role. The path ends with a slash, because the service treats
 * paths with a dot in the last segment, such as `support.eu`, as files.
 */
export function rolePath(name: string): string {
  return `/roles/${encodeURIComponent(name)}/`;
}

/** Returns the path of the list of users who have a role. */
export function holdersPath(name: string): string {
  return `/users?role=${encodeURIComponent(name)}`;
}
