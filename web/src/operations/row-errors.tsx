import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { FieldError } from '../api/problems';
import { useReasonTexts } from './use-reason-texts';

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
