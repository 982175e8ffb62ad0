/** Returns the path of the page of a role. */
export function rolePath(name: string): string {
  return `/roles/${encodeURIComponent(name)}`;
}

/** Returns the path of the list of users who have a role. */
export function holdersPath(name: string): string {
  return `/users?role=${encodeURIComponent(name)}`;
}
