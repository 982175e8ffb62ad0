import { useSyncExternalStore } from 'react';

/** Languages of the console, with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const;

/** A language of the console. */
export type Language = keyof typeof languages;

const storageKey = 'carrier-identity-language';
const listeners = new Set<() => void>();

let language: Language = initialLanguage();

function initialLanguage(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === 'en' || stored === 'de') return stored;
  return navigator.language.startsWith('de') ? 'de' : 'en';
}

/** Changes the language, and stores it for the next visit. */
export function setLanguage(next: Language): void {
  language = next;
  localStorage.setItem(storageKey, next);
  for (const listener of [...listeners]) listener();
}

/** Returns the current language and follows its changes. */
export function useLanguage(): Language {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => language,
  );
}

/** Returns the texts of the current language. */
export function useTexts<Texts>(texts: { en: Texts; de: Texts }): Texts {
  return texts[useLanguage()];
}
