import { shortHash } from '../common/random';
import type { ImportedUser } from './import-rows';
import type { Conflict } from './users-import.repository';

const uniqueFields = ['user_id', 'name', 'email'] as const;

/** State of a dry run, shared by all batches of a file. */
export class DryRunState {
  /** true once the actor has exceeded the limit of conflicts; then no further row is checked */
  limited = false;
  /** ids, names and addresses of the rows so far, as numbers to save memory */
  private readonly seen = new Set<number>();

  /** Adds a user. Returns the conflict instead if an earlier row has the id, name or address. */
  add({ line, user_id, name, email }: ImportedUser): Conflict | null {
    const keys = {
      user_id: shortHash(`i${user_id}`),
      name: shortHash(`n${name.toLowerCase()}`),
      email: shortHash(`e${email.toLowerCase()}`),
    };
    const field = uniqueFields.find((unique) => this.seen.has(keys[unique]));
    if (field !== undefined) return { line, field, hidden: false };
    Object.values(keys).forEach((key) => this.seen.add(key));
    return null;
  }
}
