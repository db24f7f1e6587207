import { commandsAsTyped, isFetchedByNpx } from '@drawbridge/shared/terminal/program-name.ts'

const npx = 'npx mcp-drawbridge'

/**
 * A text with commands of ours, as a person can type them. Who started the bridge by npx has not installed it, and the npm
 * package that `npx drawbridge` would fetch is somebody else's. `launcher` is the script that runs.
 */
export function asTyped(text: string, launcher: string = process.argv[1] ?? ''): string {
  if (!isFetchedByNpx(launcher)) return text
  return commandsAsTyped(text, 'drawbridge', '[a-z<-]', { bare: npx, withArguments: npx })
}
