import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { asTyped as typedByBridge } from '../../bridge/cli/terminal/program-name.ts'
import { asTyped as typedByServer } from '../../server/startup/program-name.ts'
import { root } from '../docs/command-block.ts'

/** Paths, programs, operators and keys that Windows and its PowerShell do not have. */
const foreign =
  /~\/|\/(?:etc|dev|run|tmp|proc|var)\/|\b(?:chmod|chown|sudo|umask|systemctl|apt|apt-get|brew|killall|gnome-keyring)\b|\.drawbridge\/| 2>\/|- < |< [\w.-]+\.(?:txt|jsonl)|&& (?:npm|sudo|docker|drawbridge)|\bcurl (?:-|http)|Ctrl-D|SIGINT or/

/** Texts with such words that are right there, or are for other systems only. */
const known: readonly [file: string, text: string, why: string][] = [
  ['bridge/cli/doctor/own-check.ts', 'chmod 600 ', 'Windows has no modes, which are not checked'],
  ['bridge/cli/install/install-entry.ts', '/var/', 'temporary folders of Linux and macOS'],
  ['bridge/credentials/keychain/keychain-error.ts', 'gnome-keyring', 'an answer of the Secret Service'],
  ['bridge/credentials/keychain/keychain.ts', '/run/user/', 'asked on Linux only'],
  ['bridge/credentials/lock/owner-process.ts', '/proc/', 'asked on Linux only'],
  ['server/cli/doctor/file-check.ts', 'chmod 600 ', 'Windows has no modes, which are not checked'],
  ['server/cli/doctor/store-check.ts', 'chmod 600 ', 'Windows has no modes, which are not checked'],
  ['server/cli/init/answers.ts', '/etc/drawbridge/', 'a path in the image'],
  ['server/cli/init/target.ts', 'file:/run/secrets/secret-keys', 'a path in the image'],
  ['server/config/setting-file.ts', 'chmod 600 ', 'Windows has no modes, which are not checked'],
  ['server/mcp/command/process/process-user.ts', '/proc/self/status', 'asked on Linux only'],
  ['shared/clients/client-table.ts', 'on Windows `%USERPROFILE%', 'both are named'],
  ['shared/clients/client-texts.ts', 'on Windows `%USERPROFILE%', 'both are named'],
]

/** The texts of a file of code, without its comments. */
function textsIn(file: string): string[] {
  const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|^ *\/\/.*$/gm, '')
  return code.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? []
}

/** Returns whether a reader on Windows gets a text with such words. Examples of help get the name of their program. */
function isForeign(file: string, text: string): boolean {
  const isOfServer = file.startsWith('server')
  const program = isOfServer ? 'drawbridge-server' : 'drawbridge'
  const plain = text.slice(1, -1).replaceAll('${program}', program)
  return [plain, `  ${program} ${plain}`].every((each) =>
    foreign.test(
      isOfServer
        ? typedByServer(each, { launcher: '', environment: {} }, 'win32')
        : typedByBridge(each, '', 'win32'),
    ),
  )
}

it('no text of the programs names what Windows does not have, except where it is for other systems only', () => {
  const files = globSync('{server,bridge,shared}/**/*.ts', {
    cwd: root,
    exclude: (name) => /(?:^|\/)(?:dist|node_modules|sandbox)$/.test(name),
  }).filter((file) => !/\.(?:test|d)\.ts$/.test(file))
  expect(files.length).toBeGreaterThan(400)
  const found = files.flatMap((file) =>
    textsIn(file)
      .filter((text) => isForeign(file, text))
      .map((text) => ({ file, text })),
  )
  const isKnown = (each: { file: string; text: string }): boolean =>
    known.some(([file, text]) => each.file === file && each.text.includes(text))
  expect(found.filter((each) => !isKnown(each))).toEqual([])
  // A row of the table that is no longer true goes.
  expect(
    known.filter(([file, text]) => !found.some((each) => each.file === file && each.text.includes(text))),
  ).toEqual([])
})
