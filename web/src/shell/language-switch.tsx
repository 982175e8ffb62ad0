import { SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Language, languages, setLanguage, useLanguage } from '../texts/language';
import { useShellTexts } from '../texts/use-shell-texts';

/** Switches between English and German. */
export function LanguageSwitch(): ReactNode {
  const { menu } = useShellTexts();
  return (
    <SegmentedControl
      size="xs"
      aria-label={menu.language}
      value={useLanguage()}
      onChange={(language) => setLanguage(language as Language)}
      data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
    />
  );
}
