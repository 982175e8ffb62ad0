const users = (count: string) => (count === '1' ? '1 user' : `${count} users`);
const rows = (count: string) => (count === '1' ? '1 row' : `${count} rows`);

/** Texts of the import and the export of users. */
export const transferTexts = {
  menu: 'Import and export',
  export: {
    menu: 'Export users…',
    title: 'Export users',
    users: (count: string, isExact: boolean, isFiltered: boolean) =>
      `The file will contain ${isExact ? '' : 'about '}${users(count)}` +
      (isFiltered ? ' that match the filter of the list.' : ': all that you may see.'),
    format: 'Format',
    csv: 'CSV',
    csvHint: 'For spreadsheets. An import of the file creates users, but does not change existing users.',
    delimiter: 'Delimiter',
    delimiters: { comma: 'Comma', semicolon: 'Semicolon (Excel in German)', tab: 'Tab' },
    bom: 'Mark the file as UTF-8, so that Excel shows special characters',
    columns: 'Columns',
    allColumns: 'All columns',
    clearColumns: 'Select all columns',
    ndjson: 'NDJSON',
    withoutDeleted: 'Deleted users are not exported, although the list shows them.',
    ndjsonHint: 'For programs. One JSON object per line.',
    hashes: 'Include password hashes',
    hashesHint: 'For a move to another installation. Protect the file as you would protect the passwords.',
    submit: 'Download',
  },
  import: {
    menu: 'Import users…',
    back: 'Users',
    title: 'Import users',
    text:
      'Create users from a CSV or NDJSON file. The file is checked first; nothing is created before you confirm. ' +
      'The check compares the rows with existing users, not with each other.',
    source: 'File',
    drop: 'Drop a file here',
    or: 'or',
    choose: 'Choose a file',
    formats: 'CSV or NDJSON, up to 5,000,000 rows. The user name and the e-mail address are required.',
    columns: (names: string) =>
      `Accepted columns: ${names}. Separate several roles, carriers or addresses with semicolons. ` +
      'Write attributes as JSON.',
    wrongType: 'This is not a CSV or NDJSON file. Save the table as CSV (UTF-8), and drop it again.',
    empty: 'This file is empty.',
    file: (name: string, size: string) => `${name} (${size})`,
    otherFile: 'Choose another file',
    onConflict: 'If the name, e-mail address or ID of a row is already taken',
    fail: 'Report the row as an error',
    skip: 'Skip the row silently',
    template: 'Download a template',
    table: {
      encoding: 'Character encoding',
      encodings: { 'utf-8': 'UTF-8', 'windows-1252': 'Windows-1252 (older Excel files)' },
      allRows: (label: string) => `${label} for all rows`,
      unknown: 'These columns are not known. Choose what they contain.',
      untitled: (place: number) => `Column ${place}`,
      ignore: 'Do not import',
    },
    check: 'Check the file',
    checking: 'Uploading and checking the file…',
    uploading: 'Uploading the file…',
    keepOpen: 'Keep this page open.',
    result: 'Result of the check',
    rows: 'Rows in the file',
    wouldCreate: 'Will be created',
    unchanged: 'Already exist',
    bad: 'With errors',
    allGood: (count: string) => `All rows are fine. ${users(count)} will be created.`,
    someBad: (count: string) =>
      `${rows(count)} ${count === '1' ? 'has' : 'have'} errors and will be skipped. Download the rows, ` +
      'correct them, and import them as a second file. Or correct the file and check it again.',
    manyBad: (count: string) =>
      `${rows(count)} have errors and will be skipped. Correct the file and check it again. ` +
      'Or import it: the operation then offers all skipped rows for correction.',
    noneGood: 'No user can be created from this file. Correct it, and check it again.',
    noRows: 'The file has no rows below its header.',
    nothingNew: 'All users in this file already exist.',
    download: (count: string) => `Download ${rows(count)} for correction`,
    submit: (count: string) => `Import ${users(count)}`,
    inviteQuestion: (mails: string, duration: string) =>
      mails === '1'
        ? 'One new user has no password. Do you want to send an invitation now? You can also do so later.'
        : `${mails} new users have no password. Do you want to send ${mails} invitations now, which takes about ` +
          `${duration}? You can also do so later.`,
    submitInvite: (count: string, mails: string) =>
      `Import ${users(count)} and send ${mails === '1' ? '1 invitation' : `${mails} invitations`}`,
    submitSilent: (count: string) => `Import ${users(count)} without invitations`,
    errors: 'Rows with errors',
    onlyFirst: (shown: string, total: string) => `The first ${shown} of ${total} rows with errors`,
    showMore: 'Show more',
    line: 'Line',
    reason: 'Error',
  },
};
