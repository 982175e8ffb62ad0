import { SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import { setLanguage, useLanguage } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';

/** Switches between English and German. */
export function LanguageSwitch(): ReactNode {
  const { menu } = useShellTexts();
  return (
    <SegmentedControl
      size="xs"
      aria-label={menu.language}
      value={useLanguage()}
      onChange={(language) => setLanguage(language)}
      data={[
        { value: 'en', label: 'English' },
        { value: 'de', label: 'Deutsch' },
      ]}
    />
  );
}
