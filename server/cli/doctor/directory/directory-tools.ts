import type { Tool } from '@modelcontextprotocol/server'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Finding, fail, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import type { DirectoryName } from './directory-name.ts'

const maxNameLength = 64

/** What the directory wants of every tool, as far as its entry in `tools/list` shows it. One finding for each rule. */
export function checkTools(directory: DirectoryName, tools: readonly Tool[]): Finding[] {
  if (tools.length === 0) {
    return [fail('directory-tools', 'There are no tools.', 'Add some: docs/tools.md says how.')]
  }
  return [
    ok('directory-tools', `Looked at ${tools.map(({ name }) => name).join(', ')}.`),
    rule('tool-names', tools, ({ name }) => name.length <= maxNameLength, {
      good: `All names have at most ${maxNameLength} characters.`,
      bad: `These names have more than ${maxNameLength} characters`,
      fix: 'Shorten them.',
    }),
    rule('tool-titles', tools, ({ title, annotations }) => Boolean(title ?? annotations?.title), {
      good: 'All have a title.',
      bad: 'These have no title',
      fix: 'Add title: what people read in place of the name.',
    }),
    rule('tool-descriptions', tools, ({ description }) => Boolean(description?.trim()), {
      good: 'All have a description.',
      bad: 'These have no description',
      fix: 'Add description: what the tool does, and nothing that tells the model what else to do.',
    }),
    hintFinding(directory, tools),
    mixedFinding(tools),
    ...(directory === 'chatgpt' ? [outputFinding(tools)] : []),
  ]
}

function hintFinding(directory: DirectoryName, tools: readonly Tool[]): Finding {
  const name = 'tool-hints'
  if (directory === 'chatgpt') {
    const hints = ['readOnlyHint', 'destructiveHint', 'openWorldHint'] as const
    return rule(name, tools, ({ annotations }) => hints.every((hint) => annotations?.[hint] !== undefined), {
      good: `All say ${hints.join(', ')}.`,
      bad: `These do not say all of ${hints.join(', ')}`,
      fix: 'Add them to annotations, each true or false. The submission asks for the reason of each.',
    })
  }
  const says = ({ annotations }: Tool): boolean =>
    annotations?.readOnlyHint === true || annotations?.destructiveHint !== undefined
  return rule(name, tools, says, {
    good: 'All say whether they only read, or else whether they destroy.',
    bad: 'These say neither readOnlyHint: true nor destructiveHint',
    fix: 'Add one of them to annotations.',
  })
}

/** Reading and writing belong in tools of their own; a parameter that chooses between them shows that they are not. */
function mixedFinding(tools: readonly Tool[]): Finding {
  return rule('tool-purpose', tools, (tool) => methodParameters(tool).length === 0, {
    warns: true,
    good: 'None chooses by a parameter what it does.',
    bad: 'These have a parameter that seems to choose what they do',
    fix: 'Where one value reads and another writes, make two tools of it.',
  })
}

function methodParameters({ inputSchema }: Tool): string[] {
  const properties = inputSchema.properties ?? {}
  return Object.entries(properties)
    .filter(([name, schema]) => {
      const isChoice = isJsonObject(schema) && Array.isArray(schema['enum']) && schema['enum'].length > 1
      return isChoice && /^(?:method|action|operation|command|verb)$/i.test(name)
    })
    .map(([name]) => name)
}

function outputFinding(tools: readonly Tool[]): Finding {
  return rule('tool-output', tools, ({ outputSchema }) => outputSchema !== undefined, {
    warns: true,
    good: 'All have an outputSchema.',
    bad: 'These have no outputSchema',
    fix: 'Add one, and answer with structuredContent.',
  })
}

function rule(
  name: string,
  tools: readonly Tool[],
  isGood: (tool: Tool) => boolean,
  texts: { good: string; bad: string; fix: string; warns?: true },
): Finding {
  const bad = tools.filter((tool) => !isGood(tool)).map((tool) => tool.name)
  if (bad.length === 0) return ok(name, texts.good)
  return (texts.warns ? warn : fail)(name, `${texts.bad}: ${bad.join(', ')}.`, texts.fix)
}
