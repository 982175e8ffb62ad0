import { createStore, useStore } from '../store';

/** Languages of the console, with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const;

/** A language of the console. */
export type Language = keyof typeof languages;

const storageKey = 'carrier-identity-language';
const language = createStore<Language>(initialLanguage());

function initialLanguage(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === 'en' || stored === 'de') return stored;
  return navigator.language.startsWith('de') ? 'de' : 'en';
}

/** Changes the language, and stores it for the next visit. */
export function setLanguage(next: Language): void {
  localStorage.setItem(storageKey, next);
  language.set(next);
}

/** Returns the current language and follows its changes. */
export function useLanguage(): Language {
  return useStore(language);
}

/** Returns the texts of the current language. */
export function useTexts<Texts>(texts: { en: Texts; de: Texts }): Texts {
  return texts[useLanguage()];
}
