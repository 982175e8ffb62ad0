import { createTheme, type CSSVariablesResolver, type MantineThemeOverride } from '@mantine/core';

/** Returns the theme. Buttons that Mantine names in English are named in the current language. */
export function themeWith(texts: { close: string; showPassword: string }): MantineThemeOverride {
  const Notification = { defaultProps: { closeButtonProps: { 'aria-label': texts.close } } };
  const PasswordInput = { defaultProps: { visibilityToggleButtonProps: { 'aria-label': texts.showPassword } } };
  return { ...theme, components: { ...theme.components, Notification, PasswordInput } };
}

/** The look of the console: dense, one accent color, system fonts. */
const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 8 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    // Uppercase badges would draw more attention than the names beside them.
    Badge: { defaultProps: { tt: 'none', fw: 500 } },
    Modal: {
      defaultProps: {
        centered: true,
        transitionProps: { duration: 100 },
        // Otherwise the `header` element of a dialog would be a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
      styles: { title: { fontWeight: 600 } },
    },
    Drawer: { styles: { title: { fontWeight: 600 } } },
    // The focus placeholder is not a menu item, and menus may only contain items (WAI-ARIA).
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
});

/** Text colors on light badges and alerts, and of the current page in the navigation, by name. */
const textOnLight = {
  blue: '#1459a0',
  gray: '#495057',
  green: '#1b5e2a',
  indigo: '#2b3fa8',
  orange: '#8a3a00',
  red: '#a61e1e',
  teal: '#065f46',
  yellow: '#6f4700',
};

/**
 * Sets colors of secondary text, badges and links with a contrast of at least 4.5:1, also in
 * hovered rows (WCAG 1.4.3).
 */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    // Links stay readable in selected and hovered rows.
    '--mantine-color-anchor': '#364fc7',
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6a7178',
    '--mantine-color-error': '#c92a2a',
    ...Object.fromEntries(
      Object.entries(textOnLight).map(([name, color]) => [`--mantine-color-${name}-light-color`, color]),
    ),
  },
  dark: {
    '--mantine-color-anchor': '#91a7ff',
    '--mantine-color-dimmed': '#b0b0b0',
    '--mantine-color-placeholder': '#a0a0a0',
    '--mantine-color-error': '#ff8787',
  },
});
