/** Size of a desktop window, where lists are tables. */
export const desktop = { width: 1280, height: 800 };
/** Size of the narrowest supported screen, where lists are cards. */
export const phone = { width: 360, height: 740 };
