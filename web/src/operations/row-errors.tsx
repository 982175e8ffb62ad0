import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ApiProblem, type FieldError } from '../api/problems';
import { useErrorTexts } from '../texts/use-error-texts';

/** Shows the errors of a row of a file, each with its column. */
export function RowErrors({ errors }: { errors: readonly FieldError[] }): ReactNode {
  const { fieldReasonOf } = useReasonTexts();
  return (
    <Stack gap={2}>
      {errors.map((error) => {
        const column = error.pointer?.slice(1) ?? '';
        return (
          <Text key={`${column} ${error.code}`} size="sm">
            {column !== '' && (
              <Text span inherit fw={600}>
                {column}:{' '}
              </Text>
            )}
            {fieldReasonOf(error)}
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
