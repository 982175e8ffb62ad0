import type { ErrorCode } from '../common/errors/error-codes';

/** Names of the pages behind mailed links. */
export type PageName = 'reset-form' | 'reset-done' | 'email-form' | 'email-done';

/** Texts of the pages behind mailed links, in one language. */
export interface PageTexts {
  titles: Record<PageName, string>;
  password: {
    label: string;
    /** `{min}` is the minimum length */
    hint: string;
    button: string;
    show: string;
    hide: string;
  };
  /** feedback while a password is typed; `{count}` is the number of missing characters */
  feedback: { short: string; simple: string; identity: string; good: string };
  confirm: { text: string; button: string };
  /** text of the form of a link that undoes changes */
  undo: string;
  /** text of a page after success */
  done: string;
  /** link to the portal; `{product}` is its name */
  portal: string;
  /** link to the page of the console that mails another link */
  newLink: string;
  /** titles of failures */
  expired: string;
  failed: string;
  /** by error code; `other` for all other codes */
  errors: Partial<Record<ErrorCode, string>> & { other: string };
  /** by code of the fault; `other` for all other codes */
  faults: Record<string, string> & { other: string };
}
