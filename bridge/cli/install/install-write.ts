import type { Client } from '../../install/client.ts'
import { InstallError, type InstallFault } from '../../install/install-error.ts'
import { applyPlan } from '../../install/apply-plan.ts'
import { shownPath } from '../../install/config-file.ts'
import type { Plan } from '../../install/plan-install.ts'
import { type CommandInput, printResult } from '../command.ts'
import { CommandFailure } from '../failure/failure-text.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import type { Terminal } from '../terminal/output.ts'
import { asTyped } from '../terminal/program-name.ts'
import { confirmed } from '../terminal/progress.ts'

const wrongCommandLine: ReadonlySet<InstallFault> = new Set(['usage', 'secret'])

/** Runs a command. If it fails, prints what can be pasted by hand. */
export async function withInstallFailure<T>(terminal: Terminal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof InstallError)) throw error
    if (error.snippet !== undefined) terminal.note(`To paste by hand:\n\n${error.snippet}\n`)
    throw new CommandFailure(error.message, error.nextStep, {
      exit: wrongCommandLine.has(error.fault) ? exitCode.usage : exitCode.failed,
      cause: error,
    })
  }
}

const done = {
  same: 'unchanged',
  add: 'added',
  update: 'updated',
  replace: 'replaced',
  remove: 'removed',
} as const

type Done = (typeof done)[keyof typeof done]

const headlines: Readonly<Record<Done, (name: string, file: string) => string>> = {
  unchanged: (name, file) => `has this entry already, as ${name} in ${file}`,
  added: (name, file) => `has the new entry ${name} in ${file}`,
  updated: (name, file) => `has the changed entry ${name} in ${file}`,
  replaced: (name, file) => `has the entry ${name} in ${file}, in place of another`,
  removed: (name, file) => `has lost the entry ${name} of ${file}`,
}

/** What a command says about its plan. */
interface Report {
  client: Client
  notes: readonly string[]
  /** Further members of the result with `--json`. */
  facts?: object
  /** What to do next, unless nothing has changed. */
  nextSteps: readonly string[]
}

/**
 * Shows a plan, carries it out once the user agrees, and prints what was done. Without a terminal it does not ask: a script
 * means it, the file is backed up, and only our own entry changes. Another entry of the name is replaced with `--force` only.
 */
export async function carryOut(plan: Plan, input: CommandInput, report: Report): Promise<ExitCode> {
  const { terminal, json, options } = input
  const { change, file, name, diff } = plan
  if (change !== 'same' && (!json || terminal.isInteractive)) {
    const show = options.dryRun && !json ? terminal.print : terminal.note
    show(`${shownPath(file)}\n${diff}`)
  }
  const did = await decide(plan, input)
  const isDone = did !== 'planned' && did !== 'declined'
  const backup = isDone && did !== 'unchanged' ? applyPlan(plan, input.runtime.now()).backup : undefined
  for (const note of report.notes) terminal.note(asTyped(note))
  const ok = did !== 'declined'
  const facts = { ok, did, client: report.client.id, name, file: file.path, backup: backup ?? null, diff }
  printResult(input, { ...facts, ...report.facts }, () => {
    if (!isDone) return terminal.note(`Nothing is written${did === 'planned' ? ': --dry-run' : ''}.`)
    terminal.note(`${report.client.title} ${headlines[did](name, shownPath(file))}.`)
    if (backup !== undefined) terminal.note(backupText(backup, options.project === true))
    if (did !== 'unchanged') for (const text of report.nextSteps) terminal.note(asTyped(text))
  })
  return ok ? exitCode.ok : exitCode.failed
}

async function decide(plan: Plan, input: CommandInput): Promise<Done | 'planned' | 'declined'> {
  if (plan.change !== 'same' && input.options.dryRun) return 'planned'
  return plan.change === 'same' || (await isAgreed(plan, input)) ? done[plan.change] : 'declined'
}

async function isAgreed({ change, file, name }: Plan, { options, terminal }: CommandInput): Promise<boolean> {
  const isReplacement = change === 'replace'
  // `--yes` does not agree to the loss of an entry of somebody else.
  if (options.force || (options.yes && !isReplacement)) return true
  if (terminal.isInteractive) {
    const question = isReplacement
      ? `Another entry is called ${JSON.stringify(name)}. Replace it?`
      : 'Write that?'
    return confirmed(question, !isReplacement, terminal)
  }
  if (!isReplacement) return true
  throw new InstallError(
    'taken',
    `Another entry of ${file.path} is called ${JSON.stringify(name)}.`,
    'Give another name with --name, or --force to replace it.',
  )
}

function backupText(backup: string, project: boolean): string {
  const text = `The file as it was is ${backup}.`
  return project
    ? `${text} It lies in the project: delete it before you commit, as it may hold secrets.`
    : text
}
