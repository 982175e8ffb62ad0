import { useSyncExternalStore } from 'react';

/** Languages of the console. */
export type Language = 'en' | 'de';

const storageKey = 'carrier-identity-language';
const listeners = new Set<() => void>();

let language: Language = initialLanguage();

function initialLanguage(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === 'en' || stored === 'de') return stored;
  return navigator.language.startsWith('de') ? 'de' : 'en';
}

/** Changes the language, and keeps it for the next visit. */
export function setLanguage(next: Language): void {
  language = next;
  localStorage.setItem(storageKey, next);
  document.documentElement.lang = next;
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
