import { commandsAsTyped, isFetchedByNpx } from '@drawbridge/shared/terminal/program-name.ts'

const npx = 'npx mcp-drawbridge'

/**
 * Rewrites our commands in a text as the user can type them. A user who ran npx has not installed the bridge, and `npx drawbridge` is
 * another package. `launcher` is the running script.
 */
export function asTyped(text: string, launcher: string = process.argv[1] ?? ''): string {
  if (!isFetchedByNpx(launcher)) return text
  return commandsAsTyped(text, 'drawbridge', '[a-z<-]', { bare: npx, withArguments: npx })
}
