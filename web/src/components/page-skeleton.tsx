import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShellTexts } from '../texts/use-shell-texts';

/** Shows a placeholder while a page loads. */
export function PageSkeleton(): ReactNode {
  const { loading } = useShellTexts();
  return (
    <Stack gap="md" p="md">
      <VisuallyHidden role="status">{loading}</VisuallyHidden>
      <Skeleton height={28} width={220} maw="60%" />
      <Skeleton height={36} />
      <Skeleton height={240} />
    </Stack>
  );
}
