import { type MantineSpacing, Stack } from '@mantine/core';
import type { ComponentProps, ReactNode } from 'react';

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  /** space between the fields; default = "md" */
  gap?: MantineSpacing;
  onSubmit: () => unknown;
}

/** Renders a form with its fields below each other. `onSubmit` sends it, not the browser. */
export function Form({ gap = 'md', onSubmit, children, ...others }: FormProps): ReactNode {
  return (
    <form
      {...others}
      onSubmit={(event) => {
        event.preventDefault();
        // React events bubble through portals: do not submit a form around a dialog or a popover.
        event.stopPropagation();
        onSubmit();
      }}
    >
      <Stack gap={gap}>{children}</Stack>
    </form>
  );
}
