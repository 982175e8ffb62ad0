import { setNonce } from 'get-nonce';

/** Nonce of the response that contained this page. Styles that scripts add need it. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

interface TrustedTypes {
  createPolicy: (name: 'default', rules: { createHTML: (html: string) => string | null }) => unknown;
}

/**
 * Prepares the page for its content security policy. Call it before the first render. Mantine
 * writes CSS variables with `innerHTML` into `<style>` elements. The default policy of Trusted
 * Types allows text without `<`, and rejects any text that could contain an element (CWE-79).
 */
export function applySecurity(): void {
  // react-remove-scroll, which Mantine uses in dialogs, takes its nonce from here.
  setNonce(styleNonce);
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes };
  trustedTypes?.createPolicy('default', { createHTML: (html) => (html.includes('<') ? null : html) });
}
