import {
  createTheme,
  type CSSVariablesResolver,
  type MantineColorsTuple,
  type MantineThemeOverride,
} from '@mantine/core';

/** Returns the theme. Buttons that Mantine names in English are named in the current language. */
export function themeWith(texts: { close: string; showPassword: string }): MantineThemeOverride {
  const Notification = { defaultProps: { closeButtonProps: { 'aria-label': texts.close } } };
  const PasswordInput = { defaultProps: { visibilityToggleButtonProps: { 'aria-label': texts.showPassword } } };
  return { ...theme, components: { ...theme.components, Notification, PasswordInput } };
}

/** The accent: links, the main action, the current page. */
const petrol: MantineColorsTuple = [
  '#eef8f9',
  '#d9eef0',
  '#b3dde2',
  '#84c6ce',
  '#52abb6',
  '#2b93a0',
  '#0f7f8d',
  '#0b6b78',
  '#085661',
  '#06424b',
];

/** Warnings. */
const amber: MantineColorsTuple = [
  '#fff8e9',
  '#fdeecb',
  '#fbdd98',
  '#f6c65c',
  '#efb032',
  '#dc951a',
  '#ba7509',
  '#935b06',
  '#75490b',
  '#573710',
];

/** Grays with a cool tint, for light colors. */
const gray: MantineColorsTuple = [
  '#f6f8f9',
  '#eef2f3',
  '#e2e8ea',
  '#d1dadd',
  '#b7c3c7',
  '#91a0a6',
  '#6b7c83',
  '#4c5b62',
  '#333f45',
  '#1b2428',
];

/** Grays from text to ground, for dark colors. Cards (7) are a step lighter than the ground (8). */
const dark: MantineColorsTuple = [
  '#dbe3e6',
  '#b7c2c6',
  '#95a2a8',
  '#66757b',
  '#344046',
  '#2a3439',
  '#20292d',
  '#171f22',
  '#0f1416',
  '#0a0e10',
];

/** Lists of options scroll themselves: the scroll area of Mantine cannot be focused. */
const optionList = {
  defaultProps: { withScrollArea: false },
  styles: { options: { maxHeight: '13.75rem', overflowY: 'auto' } },
} as const;

/** The look of the console: dense, one accent, and colors only where they carry meaning. */
const theme = createTheme({
  primaryColor: 'petrol',
  primaryShade: { light: 7, dark: 6 },
  // Both names of warnings are the same amber.
  colors: { petrol, gray, dark, orange: amber, yellow: amber },
  black: '#141c1f',
  fontFamily: "'Inter Variable', 'Inter fallback', system-ui, sans-serif",
  defaultRadius: 'sm',
  radius: { xs: '0.25rem', sm: '0.375rem', md: '0.5rem', lg: '0.75rem' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  lineHeights: { md: '1.5' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1.375rem', lineHeight: '1.3' },
      h3: { fontSize: '1.125rem', lineHeight: '1.35' },
      h4: { fontSize: '1rem', lineHeight: '1.4' },
      h5: { fontSize: '0.9375rem', lineHeight: '1.4' },
    },
  },
  shadows: {
    xs: '0 1px 2px rgb(10 30 35 / 6%)',
    sm: '0 2px 6px rgb(10 30 35 / 8%)',
    md: '0 6px 20px rgb(10 30 35 / 12%)',
    xl: '0 12px 40px rgb(10 30 35 / 18%)',
  },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    // Uppercase badges would draw more attention than the names beside them.
    Badge: { defaultProps: { tt: 'none', fw: 500, radius: 'xs' } },
    Paper: { defaultProps: { radius: 'md' } },
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'md',
        transitionProps: { duration: 100 },
        // Otherwise the `header` element of a dialog would be a second banner of the page.
        attributes: { header: { role: 'presentation' } },
      },
      styles: { title: { fontWeight: 600, fontSize: 'var(--mantine-h4-font-size)', lineHeight: 1.3 } },
    },
    Autocomplete: optionList,
    MultiSelect: optionList,
    Select: optionList,
    TagsInput: optionList,
    // Keeps open lists in the main landmark of the page.
    Combobox: { defaultProps: { portalProps: { target: '#content' } } },
    Drawer: { styles: { title: { fontWeight: 600 } } },
    // The focus placeholder is not a menu item, and menus may only contain items (WAI-ARIA).
    Menu: { defaultProps: { withInitialFocusPlaceholder: false, shadow: 'md' } },
    Popover: { defaultProps: { shadow: 'md' } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
  },
});

/** Text colors on light badges and alerts, and of the current page in the navigation, by name. */
const textOnLight = {
  blue: '#1459a0',
  gray: '#4c5b62',
  green: '#1b5e2a',
  orange: '#75490b',
  petrol: '#085661',
  red: '#a61e1e',
  yellow: '#75490b',
};

/** Sets a variable of each color that has a text color above. */
const perColor = (suffix: string, valueOf: (name: string) => string | undefined) =>
  Object.fromEntries(
    Object.keys(textOnLight).map((name) => [`--mantine-color-${name}-${suffix}`, valueOf(name) ?? '']),
  );

/**
 * Sets the ground of pages, and colors of secondary text, badges and links with a contrast of at
 * least 4.5:1, also in hovered rows (WCAG 1.4.3).
 */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--ground': 'var(--mantine-color-gray-0)',
    // Links stay readable in selected and hovered rows.
    '--mantine-color-anchor': '#08606c',
    '--mantine-color-dimmed': '#55646b',
    '--mantine-color-placeholder': '#67767d',
    '--mantine-color-error': '#c22525',
    '--mantine-color-default-border': 'var(--mantine-color-gray-3)',
    ...perColor('light-color', (name) => textOnLight[name as keyof typeof textOnLight]),
  },
  dark: {
    '--ground': 'var(--mantine-color-dark-8)',
    '--mantine-color-anchor': 'var(--mantine-color-petrol-3)',
    '--mantine-color-dimmed': '#a3b0b5',
    '--mantine-color-placeholder': '#8e9ba0',
    '--mantine-color-error': '#ff8787',
    ...perColor(
      'light',
      (name) => `color-mix(in srgb, var(--mantine-color-${name}-6) 18%, var(--mantine-color-dark-7))`,
    ),
    ...perColor(
      'light-hover',
      (name) => `color-mix(in srgb, var(--mantine-color-${name}-6) 28%, var(--mantine-color-dark-7))`,
    ),
    ...perColor('light-color', (name) => `var(--mantine-color-${name}-2)`),
  },
});
