import {
  commandsAsTyped,
  isFetchedByNpx,
  onPlatform,
  type WindowsForms,
} from '@drawbridge/shared/terminal/program-name.ts'

const npx = 'npx mcp-drawbridge'

const windowsForms: WindowsForms = [
  [/~\/\.drawbridge\/config\.json/g, String.raw`%USERPROFILE%\.drawbridge\config.json`],
  [/~\/\.drawbridge/g, String.raw`%USERPROFILE%\.drawbridge`],
  [/^Examples:$/gm, 'Examples, for PowerShell:'],
  // There `curl` alone is another program, `<` is not known, and @ has a meaning.
  [/\bcurl (?=-)/g, 'curl.exe '],
  [/(drawbridge token set .*) < (\S+)$/gm, 'type $2 | $1'],
  [/(--[\w-]+) @FILE/g, '$1 "@FILE"'],
  // Nor is `&&`, by the PowerShell of Windows itself.
  [/ && npm /g, '; npm '],
  [/2>\/dev\/null/g, '2>$null'],
  [/Enter and Ctrl-D/g, 'Enter, Ctrl-Z and Enter'],
]

/**
 * Rewrites our commands, and what else depends on the system, in a text as the user can type it. A user who ran npx has not installed
 * the bridge, and `npx drawbridge` is another package. `launcher` is the running script.
 */
export function asTyped(
  given: string,
  launcher: string = process.argv[1] ?? '',
  platform: NodeJS.Platform = process.platform,
): string {
  const text = onPlatform(given, platform, windowsForms)
  if (!isFetchedByNpx(launcher)) return text
  return commandsAsTyped(text, 'drawbridge', '[a-z<-]', { bare: npx, withArguments: npx })
}
