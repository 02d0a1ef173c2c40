import { createHash } from 'node:crypto';

import type { EC2Client, RequestLaunchTemplateData } from '@aws-sdk/client-ec2';

import { codeOf } from './faults.ts';
import type { Ec2Sdk } from './sdk.ts';
import type { Ec2Parameters, Ec2Settings, Ec2Template } from './settings.ts';

const ABSENT = 'InvalidLaunchTemplateName.NotFoundException';
const PRESENT = 'InvalidLaunchTemplateName.AlreadyExistsException';

/** Returns the template of a pool whose operator configured parameters instead of a template. */
export function ownTemplate({ pool }: Ec2Settings): Ec2Template {
  return { id: `heddle-${pool}`, version: '$Latest' };
}

/**
 * Creates the template of this pool, or adds a version if the parameters have changed.
 *
 * @returns a description of the change; null if there was none
 */
export async function updateTemplate(
  sdk: Ec2Sdk,
  client: EC2Client,
  settings: Ec2Settings,
  parameters: Ec2Parameters,
): Promise<string | null> {
  const { id: name } = ownTemplate(settings);
  const data = dataOf(parameters);
  const description = `heddle ${createHash('sha256').update(JSON.stringify(data)).digest('hex')}`;
  const known = await latestDescription(sdk, client, name);
  if (known === description) return null;
  const content = { LaunchTemplateName: name, VersionDescription: description, LaunchTemplateData: data };
  if (known === null) {
    try {
      await client.send(new sdk.CreateLaunchTemplateCommand(content));
      return `launch template ${name} created`;
    } catch (error) {
      // Another server created it first, possibly with other parameters.
      if (codeOf(error) !== PRESENT) throw error;
    }
  }
  await client.send(new sdk.CreateLaunchTemplateVersionCommand(content));
  return `launch template ${name} updated`;
}

async function latestDescription(sdk: Ec2Sdk, client: EC2Client, name: string): Promise<string | null> {
  try {
    const answer = await client.send(
      new sdk.DescribeLaunchTemplateVersionsCommand({ LaunchTemplateName: name, Versions: ['$Latest'] }),
    );
    return answer.LaunchTemplateVersions?.[0]?.VersionDescription ?? '';
  } catch (error) {
    if (codeOf(error) === ABSENT) return null;
    throw error;
  }
}

/** Lets instances read their own tags, by which agents find their batch, and terminates instances on shutdown. */
function dataOf({
  image_id,
  security_group_ids,
  instance_profile,
  key_name,
  user_data,
}: Ec2Parameters): RequestLaunchTemplateData {
  return {
    ImageId: image_id,
    UserData: Buffer.from(user_data).toString('base64'),
    InstanceInitiatedShutdownBehavior: 'terminate',
    MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 2, InstanceMetadataTags: 'enabled' },
    ...(security_group_ids.length > 0 ? { SecurityGroupIds: [...security_group_ids] } : {}),
    ...(key_name === null ? {} : { KeyName: key_name }),
    ...(instance_profile === null ? {} : { IamInstanceProfile: profileOf(instance_profile) }),
  };
}

function profileOf(profile: string): { Arn: string } | { Name: string } {
  return profile.startsWith('arn:') ? { Arn: profile } : { Name: profile };
}
