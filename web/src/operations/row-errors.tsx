import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiProblem, type FieldError } from '../api/problems';
import { own } from '../own';
import { useLanguage } from '../texts/language';
import { useErrorTexts } from '../texts/use-error-texts';
import { useUsersTexts } from '../users/use-users-texts';

interface RowErrorsProps {
  errors: readonly FieldError[];
  /** texts of the row by column */
  cells?: Record<string, string> | null | undefined;
}

/** Maximum length of a rejected value that is shown, in characters. */
const shownMax = 60;

/** Shows the errors of a row of a file, each with its column and the rejected value. */
export function RowErrors({ errors, cells }: RowErrorsProps): ReactNode {
  const language = useLanguage();
  const { fields } = useUsersTexts();
  const { fieldReasonOf } = useReasonTexts();
  return (
    <Stack gap={2}>
      {errors.map((error) => {
        const column = error.pointer?.slice(1) ?? '';
        const value = column === 'password_hash' ? '' : (own(cells ?? {}, column) ?? '');
        const shown = value.length > shownMax ? `${value.slice(0, shownMax)}…` : value;
        return (
          <Text key={`${column} ${error.code}`} size="sm">
            {column !== '' && (
              <Text span inherit fw={600}>
                {own(fields, column) ?? column}:{' '}
              </Text>
            )}
            {fieldReasonOf(error)}
            {shown !== '' && (
              <Text span inherit c="dimmed">
                {language === 'de' ? ` („${shown}“)` : ` (“${shown}”)`}
              </Text>
            )}
          </Text>
        );
      })}
    </Stack>
  );
}

/** Functions that explain why users or rows were skipped. */
export interface ReasonTexts {
  /** Returns the text of an error code. */
  reasonOf: (code: string) => string;
  /** Returns why a field of a row is invalid. */
  fieldReasonOf: (error: FieldError) => string;
}

/** Returns functions that explain why users or rows were skipped, in the current language. */
export function useReasonTexts(): ReasonTexts {
  const { textOf, fieldTextOf } = useErrorTexts();
  const reasonOf = (code: string) => textOf(new ApiProblem({ code, status: 0, title: code }));
  return {
    reasonOf,
    fieldReasonOf: (error) => {
      const text = reasonOf(error.code);
      return text === error.code ? fieldTextOf(error) : text;
    },
  };
}
