package check

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// object is one that kustomize has made, and the Go value that it fits.
type object struct {
	kind, name, namespace, yaml string
	value                       any
}

// kinds are the types that the API server, and KEDA's, would decode them into.
func typeOf(apiVersion, kind string) any {
	switch apiVersion + "/" + kind {
	case "v1/Namespace":
		return &corev1.Namespace{}
	case "v1/ConfigMap":
		return &corev1.ConfigMap{}
	case "v1/Service":
		return &corev1.Service{}
	case "v1/PersistentVolumeClaim":
		return &corev1.PersistentVolumeClaim{}
	case "apps/v1/Deployment":
		return &appsv1.Deployment{}
	case "apps/v1/StatefulSet":
		return &appsv1.StatefulSet{}
	case "batch/v1/Job":
		return &batchv1.Job{}
	case "networking.k8s.io/v1/NetworkPolicy":
		return &netv1.NetworkPolicy{}
	case "policy/v1/PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "keda.sh/v1alpha1/ScaledObject":
		return &keda.ScaledObject{}
	}
	return nil
}

// objects are what a folder of deploy/k8s builds to, each decoded to the letter: a field that its type has not, or that is given
// twice, is an error.
func objects(t *testing.T, folder string) []object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(deployDir, "k8s", folder))
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	var list []object
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		o := object{kind: r.GetKind(), name: r.GetName(), namespace: r.GetNamespace(), yaml: string(text), value: typeOf(r.GetApiVersion(), r.GetKind())}
		if o.value == nil {
			t.Fatalf("%s: %s %s: no type for %s", folder, o.kind, o.name, r.GetApiVersion())
		}
		if err := yaml.UnmarshalStrict(text, o.value, yaml.DisallowUnknownFields); err != nil {
			t.Errorf("%s: %s %s: %v", folder, o.kind, o.name, err)
		}
		list = append(list, o)
	}
	return list
}

func of[T any](list []object) map[string]T {
	all := map[string]T{}
	for _, o := range list {
		if v, ok := o.value.(T); ok {
			all[o.name] = v
		}
	}
	return all
}

// pods are the templates of all that makes pods, by kind and name.
func pods(list []object) map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for name, d := range of[*appsv1.Deployment](list) {
		all[name] = d.Spec.Template
	}
	for name, s := range of[*appsv1.StatefulSet](list) {
		all[name] = s.Spec.Template
	}
	for name, j := range of[*batchv1.Job](list) {
		all[name] = j.Spec.Template
	}
	return all
}

var folders = []string{"base", "topology", "overlays/production", "overlays/small"} //nolint:gochecknoglobals // a constant

func TestKubernetesHasAll(t *testing.T) {
	for _, folder := range []string{"overlays/production", "overlays/small"} {
		list := objects(t, folder)
		got := slices.Sorted(maps.Keys(of[*appsv1.Deployment](list)))
		if want := slices.Sorted(slices.Values(targets)); !slices.Equal(got, want) {
			t.Errorf("%s: Deployments %v, want %v", folder, got, want)
		}
		if s := of[*appsv1.StatefulSet](list)["nats"]; s == nil || *s.Spec.Replicas != 3 {
			t.Errorf("%s: not three nodes of NATS", folder)
		}
	}
}

func TestKubernetesNamespaces(t *testing.T) {
	for _, folder := range folders {
		for _, o := range objects(t, folder) {
			if o.kind != "Namespace" && o.namespace != "jetclaw" {
				t.Errorf("%s: %s %s is in the namespace %q", folder, o.kind, o.name, o.namespace)
			}
			if ns, ok := o.value.(*corev1.Namespace); ok && ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("%s: pods are not held to the restricted standard", folder)
			}
		}
	}
}

// TestPodsAreRestricted is the Pod Security Standard "restricted", and a root that can only be read, and no token of the API.
func TestPodsAreRestricted(t *testing.T) {
	for _, folder := range folders {
		for name, pod := range pods(objects(t, folder)) {
			bad := func(format string, args ...any) { t.Helper(); t.Errorf(folder+": "+name+": "+format, args...) }
			s := pod.Spec
			if s.HostNetwork || s.HostPID || s.HostIPC || len(s.EphemeralContainers) > 0 {
				bad("has more of the node than it needs")
			}
			if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
				bad("has a token of the API")
			}
			if p := s.SecurityContext; p == nil || !isTrue(p.RunAsNonRoot) || p.RunAsUser == nil || *p.RunAsUser == 0 || p.FSGroup == nil ||
				p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				bad("security of the pod: %+v", p)
			}
			for _, c := range slices.Concat(s.InitContainers, s.Containers) {
				k := c.SecurityContext
				if k == nil || !isTrue(k.ReadOnlyRootFilesystem) || k.AllowPrivilegeEscalation == nil || *k.AllowPrivilegeEscalation || isTrue(k.Privileged) ||
					k.Capabilities == nil || !slices.Equal(k.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(k.Capabilities.Add) > 0 {
					bad("security of %s: %+v", c.Name, k)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					bad("resources of %s: %+v", c.Name, c.Resources)
				}
				if _, tag, ok := strings.Cut(c.Image, ":"); !ok || tag == "latest" {
					bad("image %q names no version", c.Image)
				}
				for _, e := range c.Env {
					if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
						bad("%s is a secret in the environment: secrets are files", e.Name)
					}
				}
				if len(c.EnvFrom) > 0 {
					bad("takes its environment from elsewhere")
				}
			}
			for _, v := range s.Volumes {
				if v.HostPath != nil {
					bad("has %s of the node", v.HostPath.Path)
				}
			}
		}
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func TestProbesAndEnds(t *testing.T) {
	for _, folder := range []string{"overlays/production", "overlays/small"} {
		for name, pod := range pods(objects(t, folder)) {
			if s := pod.Spec.TerminationGracePeriodSeconds; s == nil || float64(*s) <= drains.Seconds() {
				t.Errorf("%s: %s: terminated after %v", folder, name, s)
			}
			c := pod.Spec.Containers[0]
			if c.StartupProbe == nil || c.LivenessProbe == nil || c.ReadinessProbe == nil {
				t.Errorf("%s: %s: a probe is missing", folder, name)
				continue
			}
			if name == "nats" {
				continue
			}
			if got := c.LivenessProbe.HTTPGet; got == nil || got.Path != "/healthz" || got.Port.String() != "monitor" {
				t.Errorf("%s: %s: liveness %+v", folder, name, got)
			}
			if got := c.ReadinessProbe.HTTPGet; got == nil || got.Path != "/readyz" {
				t.Errorf("%s: %s: readiness %+v", folder, name, got)
			}
			if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "monitor" && p.ContainerPort == 9464 }) {
				t.Errorf("%s: %s has no port monitor", folder, name)
			}
		}
	}
}

// TestEachHasItsPolicies finds, for everything that makes pods, a budget of disruptions and a policy of networks that select them.
func TestEachHasItsPolicies(t *testing.T) {
	for _, folder := range folders {
		list := objects(t, folder)
		selects := func(s *metav1.LabelSelector, pod corev1.PodTemplateSpec) bool {
			sel, err := metav1.LabelSelectorAsSelector(s)
			return err == nil && !sel.Empty() && sel.Matches(labels.Set(pod.Labels))
		}
		for name, pod := range pods(list) {
			policy := of[*netv1.NetworkPolicy](list)[name]
			if policy == nil || !selects(&policy.Spec.PodSelector, pod) || len(policy.Spec.PolicyTypes) != 2 {
				t.Errorf("%s: %s has no NetworkPolicy of its own", folder, name)
			}
			if folder == "topology" {
				continue // it runs once
			}
			budget := of[*policyv1.PodDisruptionBudget](list)[name]
			if budget == nil || !selects(budget.Spec.Selector, pod) || budget.Spec.MaxUnavailable.IntValue() != 1 {
				t.Errorf("%s: %s has no PodDisruptionBudget", folder, name)
			}
		}
		for name, budget := range of[*policyv1.PodDisruptionBudget](list) {
			if _, ok := pods(list)[name]; !ok {
				t.Errorf("%s: the budget %s is for nobody: %v", folder, name, budget.Spec.Selector)
			}
		}
	}
}

// TestWhoTalksToWhom is the table of deploy/README.md: who reaches what outside of the cluster, and who is reached.
func TestWhoTalksToWhom(t *testing.T) {
	list := objects(t, "base")
	policies := of[*netv1.NetworkPolicy](list)
	deny := policies["default-deny"]
	if deny == nil || len(deny.Spec.PodSelector.MatchLabels) > 0 || len(deny.Spec.PolicyTypes) != 2 || len(deny.Spec.Ingress)+len(deny.Spec.Egress) > 0 {
		t.Errorf("not everything is denied by default: %+v", deny)
	}
	outside := []string{"builtin", "intake", "mcp", "outbox", "turns"}
	for name, p := range policies {
		for _, rule := range p.Spec.Egress {
			if len(rule.To) == 0 || len(rule.Ports) == 0 {
				t.Errorf("%s may talk to everybody, or on every port", name)
			}
			for _, peer := range rule.To {
				if peer.IPBlock == nil {
					continue
				}
				if !slices.Contains(outside, name) {
					t.Errorf("%s reaches %s", name, peer.IPBlock.CIDR)
				}
				if peer.IPBlock.CIDR == "0.0.0.0/0" && !slices.Contains(peer.IPBlock.Except, "169.254.0.0/16") {
					t.Errorf("%s reaches the metadata of the cloud", name)
				}
			}
		}
		for _, rule := range p.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("%s is reached by everybody, or on every port", name)
			}
		}
	}
	for name, pod := range pods(list) {
		if name != "nats" && pod.Labels["jetclaw.dev/bus"] != "client" {
			t.Errorf("%s is not let in by NATS", name)
		}
	}
}

// secretsOf are the Secrets that a pod has.
func secretsOf(pod corev1.PodTemplateSpec) []string {
	var all []string
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			all = append(all, v.Secret.SecretName)
		}
		if v.Projected != nil {
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					all = append(all, s.Secret.Name)
				}
			}
		}
	}
	return all
}

// TestSecretsHaveOneUser: a service that was broken into is not another. The token of a Telegram bot is the one exception: one
// service asks for its updates, another speaks for it.
func TestSecretsHaveOneUser(t *testing.T) {
	users := map[string][]string{}
	for _, folder := range []string{"base", "topology"} {
		list := objects(t, folder)
		for _, o := range list {
			if o.kind == "Secret" {
				t.Errorf("%s: the Secret %s stands in the repository", folder, o.name)
			}
		}
		for name, pod := range pods(list) {
			for _, secret := range secretsOf(pod) {
				users[secret] = append(users[secret], name)
			}
		}
	}
	for secret, who := range users {
		slices.Sort(who)
		if len(who) != 1 && !(secret == "telegram" && slices.Equal(who, []string{"intake", "outbox"})) {
			t.Errorf("%s is had by %v", secret, who)
		}
	}
	for _, name := range targets {
		if !slices.Equal(users["bus-"+name], []string{name}) {
			t.Errorf("the key of %s is had by %v", name, users["bus-"+name])
		}
	}
	if !slices.Equal(users["bus-admin"], []string{"topology"}) || !slices.Equal(users["approvals"], []string{"approvals"}) {
		t.Errorf("admin: %v, approvals: %v", users["bus-admin"], users["approvals"])
	}
}

// TestMounts: what is mounted is a volume, every volume is mounted, and keys can only be read.
func TestMounts(t *testing.T) {
	for _, folder := range folders {
		list := objects(t, folder)
		for name, pod := range pods(list) {
			volumes := map[string]corev1.Volume{}
			for _, v := range pod.Spec.Volumes {
				volumes[v.Name] = v
			}
			mounted := map[string]bool{}
			for _, m := range pod.Spec.Containers[0].VolumeMounts {
				mounted[m.Name] = true
				v, ok := volumes[m.Name]
				if !ok && !(name == "nats" && m.Name == "data") {
					t.Errorf("%s: %s mounts %s, which is nothing", folder, name, m.Name)
				}
				if (v.Secret != nil || v.Projected != nil || v.ConfigMap != nil) && !m.ReadOnly {
					t.Errorf("%s: %s can write %s", folder, name, m.MountPath)
				}
				if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o400) {
					t.Errorf("%s: %s: others can read %s", folder, name, m.MountPath)
				}
			}
			for v := range volumes {
				if !mounted[v] {
					t.Errorf("%s: %s does not mount %s", folder, name, v)
				}
			}
		}
	}
}

func TestScaledObjects(t *testing.T) {
	list := objects(t, "overlays/production")
	deployments := of[*appsv1.Deployment](list)
	scaled := of[*keda.ScaledObject](list)
	if len(scaled) == 0 {
		t.Fatal("nothing is scaled")
	}
	for name, s := range scaled {
		d := deployments[s.Spec.ScaleTargetRef.Name]
		if d == nil {
			t.Errorf("%s scales %s, which is nothing", name, s.Spec.ScaleTargetRef.Name)
			continue
		}
		if d.Spec.Replicas != nil {
			t.Errorf("%s: the Deployment says how many, too: %d", name, *d.Spec.Replicas)
		}
		if s.Spec.MinReplicaCount == nil || *s.Spec.MinReplicaCount < 2 || s.Spec.Fallback == nil {
			t.Errorf("%s: at least %v, without Prometheus %v", name, s.Spec.MinReplicaCount, s.Spec.Fallback)
		}
		if err := keda.ValidateTriggers(s.Spec.Triggers); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, trigger := range s.Spec.Triggers {
			if trigger.Type != "prometheus" {
				t.Errorf("%s: trigger %s", name, trigger.Type)
			}
			if !strings.Contains(trigger.Metadata["query"], fmt.Sprintf("consumer=%q", name)) {
				t.Errorf("%s asks for the doorbells of another: %s", name, trigger.Metadata["query"])
			}
		}
	}
}

// TestConfigurations: jetclaw takes the configurations that are mounted.
func TestConfigurations(t *testing.T) {
	for _, path := range []string{"k8s/base/jetclaw.yaml", "k8s/topology/jetclaw.yaml", "compose/jetclaw.yaml", "compose/cli.yaml"} {
		home := t.TempDir()
		text := readFile(t, filepath.Join(deployDir, path))
		for _, kind := range []string{"as it is", "with all that is commented out"} {
			if kind != "as it is" {
				text = uncommented(text)
			}
			writeFile(t, filepath.Join(home, "jetclaw.yaml"), text)
			out, err := jetclawIn(t, home, "config", "show")
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", path, kind, err, out)
			}
		}
	}
}
