import type { Tool } from '@modelcontextprotocol/server'
import type { ServerConfig } from '../../../config/setting.ts'
import { publicUrls } from '../../../http/public-urls.ts'

const toDo = 'TODO'

/**
 * What the form of ChatGPT's directory asks for, filled in as far as it is known; the rest says TODO. It is a worksheet: the form's own
 * names may differ.
 */
export function submissionSkeleton(config: ServerConfig, tools: readonly Tool[]): object {
  const { baseUrl, appName, privacyUrl, termsUrl, supportUrl } = config
  const cases = tools.length > 0 ? tools : [{ name: toDo }]
  const caseOf = (index: number): string => cases[index % cases.length]?.name ?? toDo
  return {
    name: appName,
    description: toDo,
    mcp_url: publicUrls(baseUrl).resource,
    authentication: 'OAuth',
    privacy_policy_url: privacyUrl ?? toDo,
    terms_of_service_url: termsUrl ?? toDo,
    support_url: supportUrl ?? toDo,
    test_account: { user: toDo, password: `${toDo}: enter it in the form only` },
    tools: tools.map(({ name, title, description, annotations }) => ({
      name,
      title: title ?? annotations?.title ?? toDo,
      description: description ?? toDo,
      ...Object.fromEntries(
        (['readOnlyHint', 'destructiveHint', 'openWorldHint'] as const).map((hint) => [
          hint,
          { value: annotations?.[hint] ?? toDo, reason: toDo },
        ]),
      ),
    })),
    positive_test_cases: Array.from({ length: Math.max(5, tools.length) }, (_, index) => ({
      prompt: toDo,
      tool: caseOf(index),
      expected: toDo,
    })),
    negative_test_cases: Array.from({ length: 3 }, () => ({
      prompt: toDo,
      why_no_tool_is_called: toDo,
    })),
  }
}
