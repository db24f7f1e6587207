/** The directories whose rules are known. */
export const directoryNames = ['claude', 'chatgpt'] as const

/** One of {@link directoryNames}. */
export type DirectoryName = (typeof directoryNames)[number]
