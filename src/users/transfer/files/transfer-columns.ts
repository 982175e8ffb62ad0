import { namedEnum } from '../../../platform/named-enum';
import { type CellForm, userFields, type UserFieldWith, userFieldsWith } from '../../user-fields';

/** Format of an export. */
export const transferFormats = namedEnum('ExportFormat', ['csv', 'ndjson']);
/** Format of a file of users. */
export type TransferFormat = (typeof transferFormats)[number];

/** Columns of a file of users in their order. An export writes all, an import reads them. */
export const transferColumns = Object.fromEntries(
  userFieldsWith('cell').map((name) => [name, userFields[name].cell]),
) as Record<UserFieldWith<'cell'>, CellForm>;

/** Names of the columns of an export. */
export const exportColumns = namedEnum(
  'ExportColumn',
  Object.keys(transferColumns) as (keyof typeof transferColumns)[],
);
/** A column of an export. */
export type ExportColumn = (typeof exportColumns)[number];

/** Characters between the cells of a CSV file, by the name of the parameter. */
export const delimiters = { comma: ',', semicolon: ';', tab: '\t' };

/** Columns that an import reads: those of an export, and password hashes. */
export const importColumns = { ...transferColumns, password_hash: 'code' as CellForm };

/** Columns that the file of failed rows has in addition. An import ignores them. */
export const ignoredColumns = ['import_line', 'import_errors'] as const;
