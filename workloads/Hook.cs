// Runs a workload inside a program that is a single file: `DOTNET_STARTUP_HOOKS` names this library, `STRATA_WORKLOAD` the
// workload's assembly; the host's own arguments are the workload's. The host's Main never starts.

using System;
using System.Reflection;

internal static class StartupHook
{
    public static void Initialize()
    {
        string path = Environment.GetEnvironmentVariable("STRATA_WORKLOAD");
        if (string.IsNullOrEmpty(path))
        {
            Console.Error.WriteLine("Hook: STRATA_WORKLOAD names no assembly");
            Environment.Exit(64);
        }
        MethodInfo entry = Assembly.LoadFrom(path).EntryPoint;
        string[] all = Environment.GetCommandLineArgs();
        var arguments = new string[all.Length - 1];
        Array.Copy(all, 1, arguments, 0, arguments.Length);
        // By a delegate, not by reflection: no frames between this method and the workload, and an exception that nobody
        // catches ends the process as it does elsewhere.
        var main = (Func<string[], int>)Delegate.CreateDelegate(typeof(Func<string[], int>), entry);
        Environment.Exit(main(arguments));
    }
}
