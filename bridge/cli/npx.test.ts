import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../../tests/support/bridge/cli/command-run.ts'
import { storeLogin } from '../../tests/support/bridge/cli/stored-login.ts'
import { damageLogin } from '../../tests/support/bridge/credentials/usual-login.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'

const serverUrl = 'https://a.example/mcp'

describe('the bridge started by npx', () => {
  let home: string
  const launcher = process.argv[1] ?? ''
  beforeEach(() => {
    home = temporaryFolder()
    process.argv[1] = '/home/me/.npm/_npx/ab/node_modules/.bin/drawbridge'
  })
  afterEach(() => {
    process.argv[1] = launcher
  })

  it.each<[words: string[], command: string]>([
    [['status'], 'login <url>'],
    [['status', 'https://b.example/mcp'], 'login https://b.example/mcp'],
    [['status', 'foo'], 'status --help'],
    [['status', '--json'], 'login <url>'],
    [['logout', 'foo'], 'logout --help'],
    [['logout', serverUrl, '--all'], 'logout --all'],
    [['login', 'foo'], 'login --help'],
    [['login', '--reset-auth'], 'logout <url>'],
    [['token', serverUrl], 'login https://a.example/mcp'],
    [['token', 'set', serverUrl], 'token set https://a.example/mcp < token.txt'],
    [['doctor', 'foo'], 'doctor --help'],
    [['doctor', '--reset-auth'], 'logout <url>'],
    [['statsu'], '--help'],
    [['login', '--help'], 'login https://mcp.example.com/mcp --device-code'],
    [['--help'], 'doctor https://mcp.example.com/mcp'],
    [[], 'install cursor https://mcp.example.com/mcp'],
  ])('under npx the command line %j names commands as the user can type them', async (words, command) => {
    const { stdout, stderr } = await runCommand(words, { home })
    const text = `${stdout}\n${stderr}`
    const isJson = words.includes('--json')
    if (!isJson || stderr !== '') expect(text).toContain(`npx mcp-drawbridge ${command}`)
    expect(text).not.toMatch(/(?<!mcp-)\bdrawbridge (?![a-z]+(?: set)? failed\.|did not start)/)
  })

  it.each(['status', 'doctor'])('under npx %s names such commands for a stored login', async (command) => {
    await storeLogin(home, serverUrl, { signInNeeded: 'invalid_grant' })
    const words = command === 'status' ? [command] : [command, serverUrl, '--retry', 'off']
    const { stdout } = await runCommand(words, { home })
    expect(stdout).toContain('npx mcp-drawbridge login https://a.example/mcp')
  })

  it('under npx status names such commands for an unreadable login', async () => {
    await storeLogin(home, serverUrl)
    damageLogin(home, serverUrl, 'x')
    const { stdout } = await runCommand(['status', serverUrl], { home })
    expect(stdout).toContain(`npx mcp-drawbridge logout ${serverUrl}`)
  })
})
