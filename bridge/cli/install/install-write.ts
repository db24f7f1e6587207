import { applyPlan, refuseReadOnly } from '../../install/apply-plan.ts'
import { shownPath } from '../../install/config-file.ts'
import { InstallError } from '../../install/install-error.ts'
import { findServers, isStartedAlike, type Plan, snippetOf, type Target } from '../../install/plan-install.ts'
import { type CommandInput, printResult } from '../command.ts'
import { shellWord } from '@drawbridge/shared/clients/add-command.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { asTyped } from '../terminal/program-name.ts'
import { confirmed } from '../terminal/progress.ts'

const done = { add: 'added', update: 'updated', replace: 'replaced', remove: 'removed' } as const

type Done = 'unchanged' | (typeof done)[keyof typeof done]

const headlines: Readonly<Record<Done, (name: string, file: string) => string>> = {
  unchanged: (name, file) => `has this entry already, as ${name} in ${file}`,
  added: (name, file) => `has the new entry ${name} in ${file}`,
  updated: (name, file) => `has the changed entry ${name} in ${file}`,
  replaced: (name, file) => `has the entry ${name} in ${file}, in place of another`,
  removed: (name, file) => `no longer has the entry ${name} in ${file}`,
}

/** Result of a plan. `manual`: nothing is written, the user has to change the file. */
interface Outcome {
  did: Done | 'manual' | 'planned' | 'declined'
  /** Why the file is left to the user. */
  why?: string
  /** The command of the client that made the change. */
  command?: readonly string[]
  /** A copy of the file before the change. */
  backup?: string | undefined
}

/**
 * Shows a plan, carries it out once the user agrees, and prints what was done. Without a terminal it does not ask, as only
 * our own entry changes. Another entry of the name is replaced with `--force` only. `nextSteps` are printed unless nothing has changed.
 */
export async function carryOut(
  plan: Plan,
  target: Target,
  input: CommandInput,
  report: { notes: readonly string[]; nextSteps: readonly string[] },
): Promise<ExitCode> {
  const { terminal, options } = input
  const { client } = target
  const { entry, file, name } = plan
  const outcome = await decide(plan, target, input)
  const { did } = outcome
  const snippet = entry && snippetOf(client, name, entry)
  for (const note of report.notes) terminal.note(asTyped(note))
  const facts = {
    ok: did !== 'declined',
    did,
    client: client.id,
    name,
    file: file.path,
    command: outcome.command ?? null,
    backup: outcome.backup ?? null,
    ...(entry && { entry, snippet: did === 'manual' ? snippet : null }),
  }
  printResult(input, facts, () => {
    const where = shownPath(file)
    if (did === 'planned' || did === 'declined')
      return terminal.note(`Nothing was changed${did === 'planned' ? ' (--dry-run)' : ''}.`)
    if (did === 'manual') {
      terminal.note(`${where} is left as it is: ${String(outcome.why)}.`)
      if (plan.change === 'remove') terminal.note(`Remove the entry ${name} from it by hand.`)
      else if (plan.change === 'add') terminal.note('Add this to it:')
      else terminal.note(`Put this in place of the entry ${name} there:`)
      if (snippet !== undefined) terminal.print(snippet)
    } else {
      terminal.note(`${client.title} ${headlines[did](name, where)}.`)
      if (outcome.backup !== undefined) terminal.note(backupText(outcome.backup, options.project === true))
    }
    if (did !== 'unchanged') for (const text of report.nextSteps) terminal.note(asTyped(text))
  })
  return did === 'declined' ? exitCode.failed : exitCode.ok
}

async function decide(plan: Plan, target: Target, input: CommandInput): Promise<Outcome> {
  const { change, command, entry, file, name } = plan
  if (change === 'same') return { did: 'unchanged' }
  if (command === undefined && typeof plan.write === 'string') return { did: 'manual', why: plan.write }
  show(plan, target, input)
  if (input.options.dryRun) return { did: 'planned' }
  if (!(await isAgreed(plan, input))) return { did: 'declined' }
  refuseReadOnly(file)
  if (command && runCommand(plan, target, command)) return { did: done[change], command }
  if (command) input.terminal.note(`This did not make the change: ${shellLine(command)}`)
  // A program that fails may have written to the file all the same.
  const current = command ? { ...plan, ...findServers(target) } : plan
  const { write } = current
  if (typeof write === 'string') return { did: 'manual', why: write }
  return { did: done[change], backup: applyPlan(current, write(name, entry)) }
}

/** Shows the command that will run, or what will be in the file. Another program's entry is not shown: it may hold secrets. */
function show({ command, entry, file, name }: Plan, { client }: Target, input: CommandInput): void {
  const { json, options, terminal } = input
  if (json && !terminal.isInteractive) return
  const print = options.dryRun && !json ? terminal.print : terminal.note
  if (command) return print(shellLine(command))
  print(`${shownPath(file)}\n${entry ? snippetOf(client, name, entry) : `without the entry ${name}`}`)
}

/** Runs the client's own command, and looks whether the entry is as it should be: an exit code alone does not say that. */
function runCommand({ entry, name }: Plan, target: Target, command: readonly string[]): boolean {
  const [program = '', ...args] = command
  if (target.system.run(program, args) === undefined) return false
  const found = findServers(target).entries?.get(name)
  return entry === undefined ? found === undefined : isStartedAlike(found, entry)
}

function shellLine(command: readonly string[]): string {
  return command.map(shellWord).join(' ')
}

async function isAgreed({ change, file, name }: Plan, { options, terminal }: CommandInput): Promise<boolean> {
  const isReplacement = change === 'replace'
  // `--yes` does not agree to the loss of another entry.
  if (options.force || (options.yes && !isReplacement)) return true
  if (terminal.isInteractive) {
    const question = isReplacement
      ? `There is an entry ${JSON.stringify(name)} already. Replace it?`
      : 'Make this change?'
    return confirmed(question, !isReplacement, terminal)
  }
  if (!isReplacement) return true
  throw new InstallError(
    `${file.path} has an entry ${JSON.stringify(name)} already.`,
    'Give another name with --name, or --force to replace it.',
  )
}

function backupText(backup: string, project: boolean): string {
  const text = `A copy of the old file is ${backup}.`
  return project ? `${text} It is in the project: delete it before you commit, as it may hold secrets.` : text
}
