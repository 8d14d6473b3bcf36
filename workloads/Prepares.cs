// Has the runtime make ready the methods of its own libraries, so that it tells of tens of thousands of them; then waits.
//
//   Prepares [SECONDS]
//
// Methods of generic types, and generic methods, are made ready for some type arguments where these may stand.
// Prints `ready PID` once all are; runs on until it is ended, or for SECONDS.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

static class Prepares
{
    const BindingFlags All = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static
        | BindingFlags.Instance | BindingFlags.DeclaredOnly;

    static readonly Type[] Arguments = { typeof(object), typeof(int), typeof(string), typeof(char) };

    static int prepared;
    static int refused;

    static int Main(string[] args)
    {
        double seconds = args.Length > 0 ? double.Parse(args[0]) : 0;
        PrepareTypes(typeof(object).Assembly);
        foreach (string name in new[] { "System.Linq", "System.Collections", "System.Text.Json" })
        {
            PrepareTypes(Assembly.Load(new AssemblyName(name)));
        }
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Console.WriteLine("prepared " + prepared + ", refused " + refused);
        Console.Out.Flush();
        Thread.Sleep(seconds > 0 ? TimeSpan.FromSeconds(seconds) : Timeout.InfiniteTimeSpan);
        return 0;
    }

    static void PrepareTypes(Assembly assembly)
    {
        foreach (Type type in TypesOf(assembly))
        {
            if (!type.IsGenericTypeDefinition)
            {
                PrepareMethods(type);
                continue;
            }
            foreach (Type argument in Arguments)
            {
                try
                {
                    PrepareMethods(type.MakeGenericType(Repeat(argument, type.GetGenericArguments().Length)));
                }
                catch (Exception)
                {
                    refused++;
                }
            }
        }
    }

    // A library that refers to one that is not installed still has its other types.
    static IEnumerable<Type> TypesOf(Assembly assembly)
    {
        try
        {
            return assembly.GetTypes();
        }
        catch (ReflectionTypeLoadException exception)
        {
            return Array.FindAll(exception.Types, type => type != null);
        }
    }

    static void PrepareMethods(Type type)
    {
        var methods = new List<MethodBase>(type.GetMethods(All));
        methods.AddRange(type.GetConstructors(All));
        foreach (MethodBase method in methods)
        {
            if (method.IsAbstract)
            {
                continue;
            }
            if (!method.IsGenericMethodDefinition)
            {
                Prepare(method);
                continue;
            }
            foreach (Type argument in Arguments)
            {
                try
                {
                    Prepare(((MethodInfo)method).MakeGenericMethod(Repeat(argument, method.GetGenericArguments().Length)));
                }
                catch (Exception)
                {
                    refused++;
                }
            }
        }
    }

    static void Prepare(MethodBase method)
    {
        try
        {
            if (method.DeclaringType.IsGenericType)
            {
                Type[] arguments = method.DeclaringType.GetGenericArguments();
                RuntimeHelpers.PrepareMethod(method.MethodHandle, Handles(arguments, method));
            }
            else if (method.IsGenericMethod)
            {
                RuntimeHelpers.PrepareMethod(method.MethodHandle, Handles(new Type[0], method));
            }
            else
            {
                RuntimeHelpers.PrepareMethod(method.MethodHandle);
            }
            prepared++;
        }
        catch (Exception)
        {
            refused++;
        }
    }

    static RuntimeTypeHandle[] Handles(Type[] types, MethodBase method)
    {
        var handles = new List<RuntimeTypeHandle>();
        foreach (Type type in types)
        {
            handles.Add(type.TypeHandle);
        }
        if (method.IsGenericMethod)
        {
            foreach (Type type in method.GetGenericArguments())
            {
                handles.Add(type.TypeHandle);
            }
        }
        return handles.ToArray();
    }

    static Type[] Repeat(Type type, int count)
    {
        var types = new Type[count];
        for (int index = 0; index < count; index++)
        {
            types[index] = type;
        }
        return types;
    }
}
